//! Which class a client is of.

use lb_common::Address;

use super::tables::{self, Tables};

/// The class of a client; 0 where the tables say nothing of it.
#[inline(always)]
pub(super) fn class(tables: Tables, client: Address) -> u32 {
    let buffer = tables.clients_in_use();
    if !client.is_v4() {
        return tables::class_v6(buffer, client);
    }
    let [.., last] = client.words();
    let last = u32::from_be(last);
    match tables::network_v4(buffer, last >> 8).resolve() {
        Ok(class) => class.into(),
        Err(index) => tables::long_network_v4(buffer, index, last as u8).into(),
    }
}
