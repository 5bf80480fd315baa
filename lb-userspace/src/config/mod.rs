//! From a configuration file to a [`crate::model::Model`].
