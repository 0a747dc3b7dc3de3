//! Keyword arguments to a request of the engine.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMapping, PyString};
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
        pairs.read(mapping)?;
        Ok(pairs)
    }

    #[inline]
    fn read(&mut self, mapping: &Bound<'py, PyAny>) -> PyResult<()> {
        let mapping = mapping.cast::<PyMapping>().map_err(|_| {
            PyTypeError::new_err(format!("expected a mapping of tags, got {}", kind(mapping)))
        })?;
        // A list of its own: a value that is iterated runs Python code, which may change the mapping.
        for item in mapping.items()?.iter() {
            let (key, value) = item.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?;
            self.add(key, value)?;
        }
        Ok(())
    }

    #[inline]
    fn add(&mut self, key: Bound<'py, PyAny>, value: Bound<'py, PyAny>) -> PyResult<()> {
        let key = key.cast_into::<PyString>().map_err(|other| {
            let kind = kind(&other.into_inner());
            PyTypeError::new_err(format!("expected a str as the key of a tag, got {kind}"))
        })?;
        match value.cast_into::<PyString>() {
            Ok(value) => self.0.push((key, value)),
            Err(other) => self.add_several(&key, &other.into_inner())?,
        }
        Ok(())
    }

    fn add_several(&mut self, key: &Bound<'py, PyString>, value: &Bound<'py, PyAny>) -> PyResult<()> {
        let refuse = |value: &Bound<'py, PyAny>| {
            let message =
                format!("expected a str or several as the value of tag {key:?}, got {}", kind(value));
            PyTypeError::new_err(message)
        };
        if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
            return Err(refuse(value));
        }
        for one in value.try_iter().map_err(|_| refuse(value))? {
            let one = one?.cast_into::<PyString>().map_err(|other| refuse(&other.into_inner()))?;
            self.0.push((key.clone(), one));
        }
        Ok(())
    }

    pub(crate) fn texts(&self) -> PyResult<Texts<'_>> {
        let mut texts = Texts::new();
        self.put_texts(&mut texts)?;
        Ok(texts)
    }

    #[inline]
    fn put_texts<'a>(&'a self, texts: &mut Texts<'a>) -> PyResult<()> {
        for (key, value) in &self.0 {
            texts.push((key.to_str()?, value.to_str()?));
        }
        Ok(())
    }
}

/// What a call says of the request. Filled in place: it is large, and a pick is short.
#[derive(Default)]
pub(crate) struct Arguments<'py> {
    tags: Pairs<'py>,
    require: Pairs<'py>,
    key: Option<Bound<'py, PyAny>>,
    exclude: SmallVec<[Bound<'py, PyString>; 4]>,
    prefer: Option<Bound<'py, PyString>>,
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

impl Given<'_, '_> {
    /// Whether the call gives nothing but tags, or nothing at all.
    #[inline(always)]
    pub(crate) fn is_tags_alone(&self) -> bool {
        let Self { tags: _, require, key, exclude, prefer, relax: _ } = self;
        require.is_none() && key.is_none() && exclude.is_none() && prefer.is_none()
    }

    /// Runs `take` with the request. The tags of the context hold for the keys that the call does not give.
    ///
    /// Everything is read first: Python code may run then, and not while `take` does.
    pub(crate) fn ask<R>(
        &self,
        context: Option<&TagSet>,
        take: impl FnOnce(&pointsman::Request<'_>) -> R,
    ) -> PyResult<R> {
        let mut arguments = Arguments::default();
        if let Some(tags) = self.tags {
            arguments.tags.read(tags)?;
        }
        arguments.read_rest(self)?;
        arguments.with(self.relax, context, take)
    }
}

impl<'py> Arguments<'py> {
    fn read_rest(&mut self, given: &Given<'_, 'py>) -> PyResult<()> {
        if let Some(require) = given.require {
            self.require.read(require)?;
        }
        if let Some(list) = given.exclude {
            if is_text(list) {
                let message = "exclude: expected a collection of ids or instances, got a text";
                return Err(PyTypeError::new_err(message));
            }
            for one in list.try_iter()? {
                self.exclude.push(id_of(&one?)?);
            }
        }
        self.key = given.key.cloned();
        self.prefer = given.prefer.map(id_of).transpose()?;
        Ok(())
    }

    #[inline]
    fn with<R>(
        &self,
        relax: bool,
        context: Option<&TagSet>,
        take: impl FnOnce(&pointsman::Request<'_>) -> R,
    ) -> PyResult<R> {
        let mut tags = Texts::new();
        self.tags.put_texts(&mut tags)?;
        if let Some(context) = context {
            let given = tags.len();
            for (key, value) in context.pairs() {
                if !tags[..given].iter().any(|(own, _)| *own == key) {
                    tags.push((key, value));
                }
            }
        }
        let mut require = Texts::new();
        self.require.put_texts(&mut require)?;
        let mut exclude = SmallVec::<[&str; 4]>::new();
        for id in &self.exclude {
            exclude.push(id.to_str()?);
        }
        let mut request =
            pointsman::Request::new().tags(&tags).require(&require).exclude(&exclude).relax(relax);
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

/// A seed, refused by its name and limit.
#[derive(Clone, Copy)]
pub(crate) struct Seed(pub(crate) u64);

impl<'py> FromPyObject<'_, 'py> for Seed {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        given.extract().map(Self).map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(given.py()) {
                PyValueError::new_err(format!("seed is {}, must be 0 to {}", &*given, u64::MAX))
            } else {
                error
            }
        })
    }
}

/// Seconds as a duration.
pub(crate) fn seconds(name: &str, value: f64) -> PyResult<std::time::Duration> {
    std::time::Duration::try_from_secs_f64(value)
        .map_err(|_| PyValueError::new_err(format!("{name} is {value}, must be finite and not negative")))
}
