//! Numeric loops on plain slices.
