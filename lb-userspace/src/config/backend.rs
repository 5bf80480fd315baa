use super::{leaf, raw::Table};
use crate::model::{Backend, Forward};

/// Reads a `[[backend]]`.
pub(super) fn read(backend: &mut Table<'_>) -> Option<Backend> {
    let name = backend.required("name", "\"a\"", leaf::name);
    let address = backend.required("address", "\"10.0.1.11\"", leaf::address);
    let modes = [Forward::L2Dsr].map(|mode| (mode.as_str(), mode));
    let forward = backend.or("forward", Forward::L2Dsr, leaf::one_of(&modes));
    Some(Backend {
        name: name?,
        address: address?,
        forward,
    })
}
