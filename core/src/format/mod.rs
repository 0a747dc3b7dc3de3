//! Discovery documents to instances.
