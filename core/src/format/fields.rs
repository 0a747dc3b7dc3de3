//! Values that several formats share: numbers, ports, addresses, metadata, and the instance they make.

use std::borrow::Cow;
use std::net::Ipv6Addr;

use super::json::{At, Kind, Members, Raw, SHOWN, cut, read, step};
use crate::error::FormatError;
use crate::instance::Instance;

fn refuse<T>(message: String) -> Result<T, FormatError> {
    Err(FormatError::new(".", message))
}

/// Text; a number, true and false are the text that stands in the document.
pub(super) fn text<'a>(raw: Raw<'a>) -> Result<Cow<'a, str>, FormatError> {
    match raw.kind() {
        Kind::Number | Kind::Bool => Ok(raw.source().into()),
        _ => raw.string(),
    }
}

/// Text, where there is any: missing, null and empty are none.
pub(super) fn filled<'a>(raw: Option<Raw<'a>>) -> Result<Option<Cow<'a, str>>, FormatError> {
    Ok(raw.map(text).transpose()?.filter(|text| !text.is_empty()))
}

/// A weight or a load: a number or numeric text, finite and not negative.
pub(super) fn number(raw: Raw<'_>) -> Result<f64, FormatError> {
    const LIMIT: &str = "must be finite and not negative";
    let number = text(raw).ok().and_then(|text| text.trim().parse::<f64>().ok()).unwrap_or(f64::NAN);
    let fault = match number {
        number if number.is_nan() => "not a number",
        number if number.is_infinite() => "not finite",
        number if number < 0.0 => "negative",
        number => return Ok(number),
    };
    refuse(format!("{} is {fault}; {LIMIT}", raw.shown()))
}

/// A port: a whole number, or its text.
pub(super) fn port(raw: Raw<'_>) -> Result<u16, FormatError> {
    match text(raw).map(|text| text.trim().parse()) {
        Ok(Ok(port)) if port > 0 => Ok(port),
        _ => refuse(format!("{} is not a port; must be a whole number from 1 to 65535", raw.shown())),
    }
}

/// The port of an entry, which must be there.
pub(super) fn port_at(raw: Option<Raw<'_>>, place: &str) -> Result<u16, FormatError> {
    match raw {
        Some(raw) => port(raw).at(place),
        None => missing(&format!("`{place}`")),
    }
}

/// True or false, or their text in any case.
pub(super) fn flag(raw: Raw<'_>) -> Result<bool, FormatError> {
    match text(raw) {
        Ok(word) if word.trim().eq_ignore_ascii_case("true") => Ok(true),
        Ok(word) if word.trim().eq_ignore_ascii_case("false") => Ok(false),
        _ => refuse(format!("{} is neither true nor false", raw.shown())),
    }
}

/// A flag with a value where it is missing.
pub(super) fn flag_or(raw: Option<Raw<'_>>, missing: bool) -> Result<bool, FormatError> {
    raw.map_or(Ok(missing), flag)
}

/// The error of a field that must be there.
pub(super) fn missing<T>(what: &str) -> Result<T, FormatError> {
    refuse(format!("missing {what}"))
}

/// `host:port`, with IPv6 in brackets and in its shortest form (RFC 5952), so that one address has one spelling.
pub(super) fn address(host: &str, port: u16) -> Result<String, FormatError> {
    let bare = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']'),
        None => Some(host),
    };
    // RFC 4007, section 11: the zone of a link-local address stands behind a percent sign.
    let (literal, zone) = match bare.and_then(|bare| bare.split_once('%')) {
        Some((literal, zone)) => (Some(literal), Some(zone)),
        None => (bare, None),
    };
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '[' | ']' | ':' | '%');
    if let Some(ip) = literal.and_then(|literal| literal.parse::<Ipv6Addr>().ok()) {
        match zone {
            None => return Ok(format!("[{ip}]:{port}")),
            Some(zone) if !zone.is_empty() && !zone.contains(forbidden) => {
                return Ok(format!("[{ip}%{zone}]:{port}"));
            }
            Some(_) => {}
        }
    } else if !host.is_empty() && !host.contains(forbidden) {
        return Ok(format!("{host}:{port}"));
    }
    refuse(format!("{:?} is not a host; must be a name or an IP address without a port", cut(host, SHOWN)))
}

/// The metadata of an entry, and where it stands in the entry.
pub(super) struct Metadata<'a> {
    place: &'static str,
    members: Members<'a>,
}

impl<'a> Metadata<'a> {
    pub(super) fn new(place: &'static str, members: Option<Members<'a>>) -> Self {
        Self { place, members: members.unwrap_or_default() }
    }

    fn at<T>(&self, key: &str, result: Result<T, FormatError>) -> Result<T, FormatError> {
        result.map_err(|error| error.at(&step(key)).at(self.place))
    }

    /// The number at a key, if the key is there.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, FormatError> {
        self.at(key, self.members.get(key).map(number).transpose())
    }

    /// The flag at a key, if the key is there.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, FormatError> {
        self.at(key, self.members.get(key).map(flag).transpose())
    }

    /// The text at a key, unless it is empty.
    pub(super) fn filled(&self, key: &str) -> Result<Option<Cow<'a, str>>, FormatError> {
        self.at(key, filled(self.members.get(key)))
    }
}

/// An entry on its way to an instance.
pub(super) struct Draft<'a> {
    instance: Instance,
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(address: String) -> Self {
        Self { instance: Instance::new(address), pairs: Vec::new() }
    }

    /// Adds a tag. A key that has values already gets one more.
    pub(super) fn tag(&mut self, key: &'a str, value: impl Into<Cow<'a, str>>) {
        self.pairs.push((key.into(), value.into()));
    }

    /// Adds a tag where there is text for it.
    pub(super) fn tag_filled(&mut self, key: &'static str, raw: Option<Raw<'a>>) -> Result<(), FormatError> {
        if let Some(value) = filled(raw)? {
            self.tag(key, value);
        }
        Ok(())
    }

    /// Adds a tag that is one piece of text: `k=v` is key and value, any other a key with the value `""`.
    pub(super) fn split_tag(&mut self, text: Cow<'a, str>) {
        self.pairs.push(match text {
            Cow::Borrowed(text) => {
                let (key, value) = text.split_once('=').unwrap_or((text, ""));
                (key.into(), value.into())
            }
            Cow::Owned(text) => {
                let (key, value) = text.split_once('=').unwrap_or((&text, ""));
                (key.to_owned().into(), value.to_owned().into())
            }
        });
    }

    /// Takes what metadata says: every key as a tag, `zone` as the zone too, and the load's key as the load alone.
    ///
    /// A null value is no tag, and a list gives the key several values.
    pub(super) fn metadata(
        &mut self,
        metadata: &'a Metadata<'a>,
        load_key: Option<&str>,
    ) -> Result<(), FormatError> {
        for (key, value) in metadata.members.iter() {
            if Some(key) != load_key {
                metadata.at(key, self.values(key, value))?;
            }
        }
        self.instance.zone = metadata.filled("zone")?.map(|zone| zone.as_ref().into());
        if let Some(key) = load_key {
            self.instance.load = metadata.number(key)?;
        }
        Ok(())
    }

    fn values(&mut self, key: &'a str, value: Raw<'a>) -> Result<(), FormatError> {
        match value.kind() {
            Kind::Null => {}
            Kind::List => {
                for (index, value) in read::<Vec<Raw<'a>>>(value)?.into_iter().enumerate() {
                    if value.kind() != Kind::Null {
                        let value = text(value).map_err(|error| error.at(&format!("[{index}]")))?;
                        self.tag(key, value);
                    }
                }
            }
            _ => {
                let value = text(value)?;
                self.tag(key, value);
            }
        }
        Ok(())
    }

    /// Sets the weight: the format's own, else metadata's `weight`, else 1.
    pub(super) fn weight(&mut self, own: Option<f64>, metadata: &Metadata<'_>) -> Result<(), FormatError> {
        self.instance.weight = match own {
            Some(own) => own,
            None => metadata.number("weight")?.unwrap_or(1.0),
        };
        Ok(())
    }

    pub(super) fn zone(&mut self, zone: &str) {
        self.instance.zone = Some(zone.into());
    }

    pub(super) fn state(&mut self, healthy: bool, enabled: bool) {
        self.instance.healthy = healthy;
        self.instance.enabled = enabled;
    }

    pub(super) fn finish(mut self) -> Result<Instance, FormatError> {
        // Tags hold their places in 32 bits.
        let length = self.pairs.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        if u32::try_from(length).is_err() {
            return refuse(format!("tags have {length} bytes; must be at most {}", u32::MAX));
        }
        self.instance.tags = self.pairs.into_iter().collect();
        Ok(self.instance)
    }
}
