//! What pools and documents are made with.

use pointsman::format::{AddressFamily, Format, Options};
use pointsman::{PoolOptions, PoolSpec};

use crate::abi::{Context, Flag, ReleaseFn, pointsman_str, versioned};
use crate::codes::{
    POINTSMAN_FAMILY_ANY, POINTSMAN_FAMILY_IPV4, POINTSMAN_FAMILY_IPV6, POINTSMAN_FORMAT_AUTO,
    POINTSMAN_FORMAT_CONSUL, POINTSMAN_FORMAT_EUREKA, POINTSMAN_FORMAT_KUBERNETES, POINTSMAN_FORMAT_NACOS,
    POINTSMAN_FORMAT_PLAIN, POINTSMAN_FORMAT_SPRING, pointsman_address_family, pointsman_format,
};
use crate::error::Fault;

/// What a pool is made with, besides its instances.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct pointsman_pool_options {
    /// Size of the struct, set by `POINTSMAN_POOL_OPTIONS_INIT`.
    pub size: usize,
    /// Pool spec as JSON; left out, the defaults.
    pub spec: pointsman_str,
    /// Makes every choice reproducible, also in forked children. Read only where `has_seed` is set. For tests.
    pub seed: u64,
    /// Told of user data that nothing can return any more; may be NULL.
    pub release: ReleaseFn,
    /// Handed to `release`.
    pub release_context: Context,
    /// Whether `seed` is set.
    pub has_seed: Flag,
    /// Not used.
    pub reserved: [u8; 7],
}

versioned! {
    pointsman_pool_options, first 56 bytes, set by POINTSMAN_POOL_OPTIONS_INIT;
    size: 0,
    spec: pointsman_str::NONE,
    seed: 0,
    release: ReleaseFn::NONE,
    release_context: Context::NONE,
    has_seed: Flag::FALSE,
    reserved: [0; 7],
}

impl pointsman_pool_options {
    pub(crate) fn to_options(self) -> Result<PoolOptions, Fault> {
        let mut options = PoolOptions::new();
        if let Some(spec) = self.spec.opt_document("spec")? {
            options = options.spec(PoolSpec::from_json(spec)?);
        }
        if self.has_seed.get() {
            options = options.seed(self.seed);
        }
        if let Some(hook) = self.release.with(self.release_context) {
            options = options.release(move |user_data| hook.call(user_data));
        }
        Ok(options)
    }
}

/// How to read a discovery document. What is left out is at its default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct pointsman_discovery_options {
    /// Size of the struct, set by `POINTSMAN_DISCOVERY_OPTIONS_INIT`.
    pub size: usize,
    /// The service to take from a document that holds several.
    pub service: pointsman_str,
    /// The port to take where an instance has several: its name, or its number.
    pub port: pointsman_str,
    /// The metadata key whose number is the instance's load.
    pub load_key: pointsman_str,
    /// The document's format, one of `POINTSMAN_FORMAT_...`.
    pub format: pointsman_format,
    /// The family of the addresses to take, one of `POINTSMAN_FAMILY_...`.
    pub address_family: pointsman_address_family,
    /// Leaves bad entries out and lists them in the report, where one of them would refuse the whole list.
    pub lenient: Flag,
    /// Takes an IP address before a host name.
    pub prefer_ip: Flag,
    /// Not used.
    pub reserved: [u8; 6],
}

versioned! {
    pointsman_discovery_options, first 72 bytes, set by POINTSMAN_DISCOVERY_OPTIONS_INIT;
    size: 0,
    service: pointsman_str::NONE,
    port: pointsman_str::NONE,
    load_key: pointsman_str::NONE,
    format: POINTSMAN_FORMAT_AUTO,
    address_family: POINTSMAN_FAMILY_ANY,
    lenient: Flag::FALSE,
    prefer_ip: Flag::FALSE,
    reserved: [0; 6],
}

impl pointsman_discovery_options {
    pub(crate) fn to_options(self) -> Result<Options, Fault> {
        let mut options = Options::new()
            .format(format(self.format)?)
            .lenient(self.lenient.get())
            .prefer_ip(self.prefer_ip.get());
        if let Some(family) = family(self.address_family)? {
            options = options.address_family(family);
        }
        options.service = self.service.opt_text("service")?.map(String::from);
        options.port = self.port.opt_text("port")?.map(String::from);
        options.load_key = self.load_key.opt_text("load_key")?.map(String::from);
        Ok(options)
    }
}

fn format(number: pointsman_format) -> Result<Format, Fault> {
    Ok(match number {
        POINTSMAN_FORMAT_AUTO => Format::Auto,
        POINTSMAN_FORMAT_NACOS => Format::Nacos,
        POINTSMAN_FORMAT_CONSUL => Format::Consul,
        POINTSMAN_FORMAT_KUBERNETES => Format::Kubernetes,
        POINTSMAN_FORMAT_EUREKA => Format::Eureka,
        POINTSMAN_FORMAT_SPRING => Format::Spring,
        POINTSMAN_FORMAT_PLAIN => Format::Plain,
        _ => return Err(Fault::bad_enum("format", number.into())),
    })
}

fn family(number: pointsman_address_family) -> Result<Option<AddressFamily>, Fault> {
    Ok(match number {
        POINTSMAN_FAMILY_ANY => None,
        POINTSMAN_FAMILY_IPV4 => Some(AddressFamily::Ipv4),
        POINTSMAN_FAMILY_IPV6 => Some(AddressFamily::Ipv6),
        _ => return Err(Fault::bad_enum("address_family", number.into())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_number() {
        for (number, known) in Format::ALL.into_iter().enumerate() {
            assert_eq!(format(number as i32).unwrap(), known);
        }
        assert!(format(Format::ALL.len() as i32).is_err());
    }
}
