//! What a caller may say of a document: its format, and what to take out of it.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::error::FormatError;

/// Where a discovery document comes from.
///
/// ```
/// use pointsman::format::Format;
///
/// assert_eq!("consul".parse(), Ok(Format::Consul));
/// let error = "etcd".parse::<Format>().unwrap_err().to_string();
/// assert_eq!(error, "format: \"etcd\" is not one of auto, nacos, consul, kubernetes, eureka, spring, plain");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Format {
    /// Told from the content.
    #[default]
    Auto,
    /// Nacos instance lists: 1.x, 2.x and 3.x, and servers that speak their API.
    Nacos,
    /// Consul `/v1/health/service/:name`.
    Consul,
    /// Kubernetes `EndpointSlice` and `EndpointSliceList`.
    Kubernetes,
    /// Eureka applications as JSON.
    Eureka,
    /// Lists of Spring `ServiceInstance`s.
    Spring,
    /// pointsman's own list, which [`to_plain`](super::to_plain) writes.
    Plain,
}

impl Format {
    /// Every format, in the order in which a document is compared with them.
    pub const ALL: [Self; 7] =
        [Self::Auto, Self::Nacos, Self::Consul, Self::Kubernetes, Self::Eureka, Self::Spring, Self::Plain];

    /// The word used in JSON, C, Python and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Nacos => "nacos",
            Self::Consul => "consul",
            Self::Kubernetes => "kubernetes",
            Self::Eureka => "eureka",
            Self::Spring => "spring",
            Self::Plain => "plain",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reads the word of [`Format::as_str`], byte-exact. The error lists the words.
impl FromStr for Format {
    type Err = FormatError;

    fn from_str(word: &str) -> Result<Self, FormatError> {
        one_of("format", word, &Self::ALL, Self::as_str)
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A family of addresses, for documents that give an instance in both.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AddressFamily {
    /// Addresses such as 10.0.0.1.
    Ipv4,
    /// Addresses such as 2001:db8::1.
    Ipv6,
}

impl AddressFamily {
    /// Both families.
    pub const ALL: [Self; 2] = [Self::Ipv4, Self::Ipv6];

    /// The word used in JSON, C, Python and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
        }
    }
}

impl fmt::Display for AddressFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reads the word of [`AddressFamily::as_str`], byte-exact. The error lists the words.
impl FromStr for AddressFamily {
    type Err = FormatError;

    fn from_str(word: &str) -> Result<Self, FormatError> {
        one_of("address_family", word, &Self::ALL, Self::as_str)
    }
}

impl Serialize for AddressFamily {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

fn one_of<T: Copy>(
    field: &str,
    word: &str,
    all: &[T],
    as_str: impl Fn(T) -> &'static str,
) -> Result<T, FormatError> {
    all.iter().copied().find(|&value| as_str(value) == word).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|&value| as_str(value)).collect();
        let word = super::json::cut(word, super::json::SHOWN);
        FormatError::new(field, format!("{word:?} is not one of {}", words.join(", ")))
    })
}

/// How to read a document. The default tells the format from the content and refuses a list with a bad entry.
///
/// An option that the document's format has no use for changes nothing, and the report notes it.
///
/// ```
/// use pointsman::format::{Format, Options};
///
/// let options = Options::new().format(Format::Kubernetes).service("orders").port("http").lenient(true);
/// assert_eq!(options.service.as_deref(), Some("orders"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The document's format. Naming it keeps a document of another kind from being taken for this one.
    pub format: Format,
    /// The service to take from a document that holds several: Kubernetes (`name` or `namespace/name`) and Eureka
    /// (the application's name, ASCII case ignored where none is byte-equal).
    pub service: Option<String>,
    /// The port to take where an instance has several (Kubernetes): its name, or its number.
    pub port: Option<String>,
    /// Leaves bad entries out and lists them in the report, where one of them would refuse the whole list.
    pub lenient: bool,
    /// The metadata key whose number is the instance's load. It is then no tag: a load changes with every list, and
    /// a changed tag costs a new tag index.
    pub load_key: Option<String>,
    /// Eureka: takes `ipAddr` before `hostName`.
    pub prefer_ip: bool,
    /// Kubernetes: the family of the slices to take. Unless set, IPv4 where there are such endpoints, else IPv6.
    pub address_family: Option<AddressFamily>,
}

impl Options {
    /// The default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the format.
    pub fn format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// Names the service.
    pub fn service(mut self, service: impl Into<String>) -> Self {
        self.service = Some(service.into());
        self
    }

    /// Names the port, or gives its number.
    pub fn port(mut self, port: impl Into<String>) -> Self {
        self.port = Some(port.into());
        self
    }

    /// Sets whether bad entries are left out.
    pub fn lenient(mut self, lenient: bool) -> Self {
        self.lenient = lenient;
        self
    }

    /// Names the metadata key that holds the load.
    pub fn load_key(mut self, key: impl Into<String>) -> Self {
        self.load_key = Some(key.into());
        self
    }

    /// Sets whether an IP address is taken before a host name.
    pub fn prefer_ip(mut self, prefer: bool) -> Self {
        self.prefer_ip = prefer;
        self
    }

    /// Sets the address family.
    pub fn address_family(mut self, family: AddressFamily) -> Self {
        self.address_family = Some(family);
        self
    }

    /// The names of the options that are set and can be without use in a format.
    pub(super) fn set(&self) -> impl Iterator<Item = &'static str> {
        let set = [
            ("service", self.service.is_some()),
            ("port", self.port.is_some()),
            ("load_key", self.load_key.is_some()),
            ("prefer_ip", self.prefer_ip),
            ("address_family", self.address_family.is_some()),
        ];
        set.into_iter().filter(|(_, set)| *set).map(|(name, _)| name)
    }
}
