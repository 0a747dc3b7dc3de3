//! JSON to specs, with the place of an error.

use serde::de::DeserializeOwned;

use crate::error::RouteError;

/// Reads a spec; the error's path is the place in the document.
pub(crate) fn parse_json<T: DeserializeOwned>(text: &str) -> Result<T, RouteError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let spec = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| RouteError::new(error.path().to_string(), error.inner().to_string()))?;
    json.end().map_err(|error| RouteError::new(".", error.to_string()))?;
    Ok(spec)
}
