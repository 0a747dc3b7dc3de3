//! Tells the sources whether the interpreter has a GIL, and the linker to leave its symbols open.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
    pyo3_build_config::add_extension_module_link_args();
}
