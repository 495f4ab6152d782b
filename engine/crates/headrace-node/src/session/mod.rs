//! Sessions: one attempt of a transfer between two nodes, or between two roots of one.

pub mod counters;
pub mod landing;
#[cfg(test)]
pub(crate) mod tests_support;
