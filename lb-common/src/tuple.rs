use crate::{Address, HashKey, Protocol};

#[cfg(test)]
mod tests;

/// What names a flow: the addresses and ports of its packets from the client to the service.
///
/// It never crosses the border itself; only its hashes do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Tuple {
    /// The client.
    pub client: Address,
    /// The service.
    pub service: Address,
    /// The client's port, network order.
    pub client_port: [u8; 2],
    /// The service's port, network order.
    pub service_port: [u8; 2],
    /// TCP or UDP.
    pub protocol: Protocol,
}

impl Tuple {
    /// Keyed hash of the whole tuple; see [`HashKey`] for its bound.
    ///
    /// IPv4 and IPv6 tuples use coefficients of their own, so an IPv4 tuple costs four
    /// multiplications.
    #[inline(always)]
    pub fn hash(&self, key: &HashKey) -> u32 {
        let [s0, s1, s2, s3] = self.service.words();
        let [c0, c1, c2, c3] = self.client.words();
        let [a, b] = self.client_port;
        let [c, d] = self.service_port;
        let ports = u32::from_be_bytes([a, b, c, d]);
        let protocol = self.protocol.0 as u32;
        if self.client.is_v4() && self.service.is_v4() {
            key.v4(&[c3, s3, ports, protocol])
        } else {
            key.v6(&[c0, c1, c2, c3, s0, s1, s2, s3, ports, protocol])
        }
    }
}
