//! Keyword arguments to a request of the engine.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMapping, PyString};
use smallvec::SmallVec;

use crate::context::TagSet;
use crate::instance::{id_of, kind};

/// Pairs of key and value, each kept alive while the engine reads it.
#[derive(Default)]
pub(crate) struct Pairs<'py>(SmallVec<[(Bound<'py, PyString>, Bound<'py, PyString>); 3]>);

pub(crate) type Texts<'a> = SmallVec<[(&'a str, &'a str); 4]>;

impl<'py> Pairs<'py> {
    /// Of a mapping from keys to a value or several.
    pub(crate) fn of(mapping: &Bound<'py, PyAny>) -> PyResult<Self> {
        let mut pairs = Self::default();
        if let Ok(dict) = mapping.cast_exact::<PyDict>() {
            for (key, value) in dict.iter() {
                pairs.add(&key, value)?;
            }
        } else {
            let mapping = mapping.cast::<PyMapping>().map_err(|_| {
                PyTypeError::new_err(format!("expected a mapping of tags, got {}", kind(mapping)))
            })?;
            for item in mapping.items()?.iter() {
                let (key, value) = item.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?;
                pairs.add(&key, value)?;
            }
        }
        Ok(pairs)
    }

    fn of_optional(mapping: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        mapping.map_or_else(|| Ok(Self::default()), Self::of)
    }

    #[inline]
    fn add(&mut self, key: &Bound<'py, PyAny>, value: Bound<'py, PyAny>) -> PyResult<()> {
        let Ok(key) = key.cast::<PyString>() else {
            return Err(PyTypeError::new_err(format!("expected a str as the key of a tag, got {}", kind(key))));
        };
        let value = match value.cast_into::<PyString>() {
            Ok(value) => {
                self.0.push((key.clone(), value));
                return Ok(());
            }
            Err(other) => other.into_inner(),
        };
        let refuse =
            |value: &Bound<'py, PyAny>| {
                let message = format!("expected a str or several as the value of tag {key:?}, got {}", kind(value));
                PyTypeError::new_err(message)
            };
        if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
            return Err(refuse(&value));
        }
        for one in value.try_iter().map_err(|_| refuse(&value))? {
            let one = one?.cast_into::<PyString>().map_err(|other| refuse(&other.into_inner()))?;
            self.0.push((key.clone(), one));
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn texts(&self) -> PyResult<Texts<'_>> {
        let mut texts = Texts::new();
        for (key, value) in &self.0 {
            texts.push((key.to_str()?, value.to_str()?));
        }
        Ok(texts)
    }
}

/// What a call says of the request.
pub(crate) struct Arguments<'py> {
    tags: Pairs<'py>,
    require: Pairs<'py>,
    key: Option<Bound<'py, PyAny>>,
    exclude: SmallVec<[Bound<'py, PyString>; 4]>,
    prefer: Option<Bound<'py, PyString>>,
    relax: bool,
}

/// The keyword arguments as they come.
pub(crate) struct Given<'a, 'py> {
    pub(crate) tags: Option<&'a Bound<'py, PyAny>>,
    pub(crate) require: Option<&'a Bound<'py, PyAny>>,
    pub(crate) key: Option<&'a Bound<'py, PyAny>>,
    pub(crate) exclude: Option<&'a Bound<'py, PyAny>>,
    pub(crate) prefer: Option<&'a Bound<'py, PyAny>>,
    pub(crate) relax: bool,
}

impl<'a, 'py> Given<'a, 'py> {
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.tags.is_none()
            && self.require.is_none()
            && self.key.is_none()
            && self.exclude.is_none()
            && self.prefer.is_none()
    }

    /// Reads everything. Python code may run here, and nowhere after.
    pub(crate) fn read(&self) -> PyResult<Arguments<'py>> {
        let mut exclude = SmallVec::new();
        if let Some(list) = self.exclude {
            if is_text(list) {
                return Err(PyTypeError::new_err("exclude: expected a collection of ids or instances, got a text"));
            }
            for one in list.try_iter()? {
                exclude.push(id_of(&one?)?);
            }
        }
        Ok(Arguments {
            tags: Pairs::of_optional(self.tags)?,
            require: Pairs::of_optional(self.require)?,
            key: self.key.cloned(),
            exclude,
            prefer: self.prefer.map(id_of).transpose()?,
            relax: self.relax,
        })
    }
}

impl Arguments<'_> {
    /// Runs `take` with the request. The tags of the context hold for the keys that the call does not give.
    pub(crate) fn with<R>(
        &self,
        context: Option<&TagSet>,
        take: impl FnOnce(&pointsman::Request<'_>) -> R,
    ) -> PyResult<R> {
        let mut tags = self.tags.texts()?;
        if let Some(context) = context {
            let given = tags.len();
            for (key, value) in context.pairs() {
                if !tags[..given].iter().any(|(own, _)| *own == key) {
                    tags.push((key, value));
                }
            }
        }
        let require = self.require.texts()?;
        let exclude = self.exclude.iter().map(|id| id.to_str());
        let exclude = exclude.collect::<PyResult<SmallVec<[&str; 4]>>>()?;
        let mut request =
            pointsman::Request::new().tags(&tags).require(&require).exclude(&exclude).relax(self.relax);
        if let Some(key) = &self.key {
            request = request.key(bytes_of(key)?);
        }
        if let Some(prefer) = &self.prefer {
            request = request.prefer(prefer.to_str()?);
        }
        Ok(take(&request))
    }
}

/// A key's bytes: a text's UTF-8, or bytes as they are.
fn bytes_of<'a>(key: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    if let Ok(text) = key.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes());
    }
    match key.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes()),
        Err(_) => Err(PyTypeError::new_err(format!("key: expected str or bytes, got {}", kind(key)))),
    }
}

/// Texts are iterables of texts, which is never what is meant.
pub(crate) fn is_text(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>()
}

/// Seconds as a duration.
pub(crate) fn seconds(name: &str, value: f64) -> PyResult<std::time::Duration> {
    std::time::Duration::try_from_secs_f64(value)
        .map_err(|_| PyValueError::new_err(format!("{name} is {value}, must be finite and not negative")))
}
