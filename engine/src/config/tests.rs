//! Configurations that are refused, and what the refusal says.
