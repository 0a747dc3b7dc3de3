//! Files to pools, route specs and requests.

use std::io::Read;

use pointsman::format::{Discovered, Options, parse_bytes};
use pointsman::{Pool, PoolOptions, PoolSpec, Request, Route, RouteError, RouteSpec};

use crate::args::{InputArgs, RequestArgs};
use crate::failure::Failure;

const EXAMPLE: &[u8] = include_bytes!("../data/orders.nacos.json");
const EXAMPLE_NAME: &str = "the example list";
const EXAMPLE_LOAD_KEY: &str = "cpu-usage";

/// A document that was read, and what it is called in messages.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) found: Discovered,
    zone: Option<String>,
}

impl Input {
    pub(crate) fn read(args: &InputArgs) -> Result<Self, Failure> {
        let mut options = Options::new().format(args.format).lenient(args.lenient).prefer_ip(args.prefer_ip);
        options.service.clone_from(&args.service);
        options.port.clone_from(&args.port);
        options.load_key.clone_from(&args.load_key);
        options.address_family = args.address_family;
        let (name, bytes) = match args.file.as_deref() {
            None => {
                options.load_key.get_or_insert_with(|| EXAMPLE_LOAD_KEY.to_owned());
                (EXAMPLE_NAME.to_owned(), EXAMPLE.to_vec())
            }
            Some("-") => ("stdin".to_owned(), read_stdin()?),
            Some(path) => (path.to_owned(), read_file(path)?),
        };
        match parse_bytes(&bytes, &options) {
            Ok(found) => Ok(Self { name, found, zone: args.zone.clone() }),
            Err(error) => Err(Failure::bad(name, error)),
        }
    }

    pub(crate) fn pool(&self, seed: Option<u64>) -> Result<Pool, Failure> {
        let mut options = PoolOptions::new();
        options.spec = PoolSpec::new();
        options.spec.zone.clone_from(&self.zone);
        options.seed = seed;
        Pool::with(options, self.found.instances.iter().cloned())
            .map_err(|error| Failure::bad(&self.name, error))
    }
}

/// A route spec and where it came from, for messages about it.
pub(crate) struct Spec {
    pub(crate) name: String,
    pub(crate) spec: RouteSpec,
}

impl Spec {
    pub(crate) fn read(path: &str) -> Result<Self, Failure> {
        let text = String::from_utf8(read_file(path)?).map_err(|error| Failure::bad(path, error))?;
        match RouteSpec::from_json(&text) {
            Ok(spec) => Ok(Self { name: path.to_owned(), spec }),
            Err(error) => Err(Failure::bad(path, error)),
        }
    }

    pub(crate) fn route(&self, pool: &Pool) -> Result<Route, Failure> {
        pool.route(self.spec.clone()).map_err(|error: RouteError| Failure::bad(&self.name, error))
    }
}

/// The request of the command line, in the borrowed form that [`Request`] takes.
pub(crate) struct Asked<'a> {
    tags: Vec<(&'a str, &'a str)>,
    require: Vec<(&'a str, &'a str)>,
    exclude: Vec<&'a str>,
    args: &'a RequestArgs,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(args: &'a RequestArgs) -> Self {
        Self {
            tags: borrowed(&args.tags),
            require: borrowed(&args.require),
            exclude: args.exclude.iter().map(String::as_str).collect(),
            args,
        }
    }

    pub(crate) fn request(&self) -> Request<'_> {
        let mut request = Request::new()
            .tags(&self.tags)
            .require(&self.require)
            .exclude(&self.exclude)
            .relax(self.args.relax);
        if let Some(key) = &self.args.key {
            request = request.key(key.as_bytes());
        }
        if let Some(id) = &self.args.prefer {
            request = request.prefer(id);
        }
        request
    }
}

fn borrowed(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

pub(crate) fn read_file(path: &str) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::bad(path, error))
}

fn read_stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    match std::io::stdin().lock().read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Failure::bad("stdin", error)),
    }
}
