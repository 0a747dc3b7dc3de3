//! pointsman: which instance takes the next request.

mod error;
pub mod format;
mod instance;
mod tags;

pub use error::{FormatError, NoInstance, Reason, RouteError, UpdateError};
pub use instance::{Instance, MAX_INSTANCES, MAX_TAGS};
pub use tags::Tags;
