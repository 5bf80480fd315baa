//! Which class a client is of.

use lb_common::{Address, Place};

use super::tables;

/// The class of a client; 0 where the tables say nothing of it.
#[inline(always)]
pub(super) fn class(client: Address) -> u32 {
    let buffer = tables::clients_in_use();
    let [.., last] = client.words();
    if !client.is_v4() {
        return tables::class_v6(buffer, client);
    }
    match tables::network_v4(buffer, last >> 8).resolve() {
        Ok(class) => class.into(),
        Err(index) => tables::long_network_v4(buffer, index, last as u8).into(),
    }
}
