use crate::{Address, FLOW_PASSES, HashKey, Protocol, hash::stirred};

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
    /// The ports of both.
    pub ports: Ports,
    /// TCP or UDP.
    pub protocol: Protocol,
}

/// The first four bytes of a TCP or UDP header from a client to a service.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ports(u32);

impl Ports {
    /// The ports of a client and of a service.
    pub const fn new(client: u16, service: u16) -> Self {
        let [a, b] = client.to_be_bytes();
        let [c, d] = service.to_be_bytes();
        Self(u32::from_ne_bytes([a, b, c, d]))
    }

    /// The ports whose four bytes stand in memory as this word.
    #[inline(always)]
    pub const fn of_word(word: u32) -> Self {
        Self(word)
    }

    /// The word that [`Self::of_word`] takes.
    #[inline(always)]
    pub const fn word(self) -> u32 {
        self.0
    }

    /// What the first four bytes of a packet back to the client are, as they stand in memory.
    #[inline(always)]
    pub const fn reversed(self) -> u32 {
        self.0.rotate_left(16)
    }

    /// The client's port.
    #[inline(always)]
    pub const fn client(self) -> u16 {
        (u32::from_be(self.0) >> 16) as u16
    }

    /// The service's port.
    #[inline(always)]
    pub const fn service(self) -> u16 {
        u32::from_be(self.0) as u16
    }
}

impl Tuple {
    /// Keyed hash of the whole tuple by which a place is chosen; see [`HashKey`] for its bound.
    #[inline(always)]
    pub fn hash(&self, key: &HashKey) -> u32 {
        stirred(self.name(key))
    }

    /// The hashes of [`crate::Entry::name`] under the keys of the flow table. The low bits of the first say
    /// which bucket the flow's entry is in.
    #[inline(always)]
    pub fn flow_hashes(&self, [first, second]: &[HashKey; FLOW_PASSES]) -> [u32; FLOW_PASSES] {
        [self.hash(first), self.name(second)]
    }

    /// Keyed hash of the client alone: of an IPv4 address, or of the first 64 bits of an IPv6 address,
    /// since a host changes the others as it likes (RFC 8981).
    #[inline(always)]
    pub fn client_hash(&self, key: &HashKey) -> u32 {
        let [c0, c1, _, c3] = self.client.words();
        stirred(if self.client.is_v4() {
            key.v4(&[c3, 0, 0, 0])
        } else {
            key.v6(&[c0, c1, 0, 0, 0, 0, 0, 0, 0, 0])
        })
    }

    /// Bits of [`Self::label`].
    pub const LABEL_BITS: u32 = 20;

    /// A number of the flow that anybody may guess: the multiplication carries each bit of client and ports up
    /// to the highest ones.
    #[inline(always)]
    pub const fn label(&self) -> u32 {
        /// 2^64 by the golden ratio.
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let [a, b, c, d] = self.client.words();
        let high = a ^ c ^ self.ports.word();
        let number = (high as u64) << 32 | (b ^ d) as u64;
        (number.wrapping_mul(ODD) >> (u64::BITS - Self::LABEL_BITS)) as u32
    }

    /// The tuple's hash before it is stirred: enough to tell tuples from each other.
    ///
    /// IPv4 and IPv6 tuples use coefficients of their own, so an IPv4 tuple costs four
    /// multiplications. The words are taken as they stand in memory, so hosts of the other byte order
    /// would hash otherwise; the program is built for little-endian ones alone.
    #[inline(always)]
    pub fn name(&self, key: &HashKey) -> u32 {
        let [s0, s1, s2, s3] = self.service.words();
        let [c0, c1, c2, c3] = self.client.words();
        let ports = self.ports.0;
        let protocol = self.protocol.0 as u32;
        if self.client.is_v4() && self.service.is_v4() {
            key.v4(&[c3, s3, ports, protocol])
        } else {
            key.v6(&[c0, c1, c2, c3, s0, s1, s2, s3, ports, protocol])
        }
    }
}
