use std::net::{Ipv4Addr, Ipv6Addr};

use aya::{
    Ebpf, EbpfLoader,
    maps::PerCpuArray,
    programs::{Xdp, XdpMode},
};

use super::host::{Host, INTERFACE};
use crate::PROGRAMS;

/// The end of a tunnel on a host: packets of both families in others of IPv4 and of IPv6 for its own
/// addresses, and in datagrams of GUE, are taken apart, and the inner ones go up. Dropping it ends that.
#[derive(Debug)]
pub struct TunnelEnd {
    /// Holds program, link and map.
    object: Ebpf,
}

impl Host {
    /// Makes it the end of tunnels (natively, on its interface).
    #[track_caller]
    pub fn decapsulate(&self) -> TunnelEnd {
        let mut end = TunnelEnd::load(self.address(), self.address_v6());
        let program: &mut Xdp = end
            .object
            .program_mut(PROGRAM)
            .and_then(|program| program.try_into().ok())
            .expect("it is loaded");
        self.enter(|| program.attach(INTERFACE, XdpMode::Driver))
            .unwrap_or_else(|error| panic!("{} did not take it: {error}", self.name()));
        end
    }
}

const PROGRAM: &str = "decapsulate";

impl TunnelEnd {
    /// The end of tunnels to these addresses, on no interface.
    #[track_caller]
    pub fn load(v4: Ipv4Addr, v6: Ipv6Addr) -> Self {
        let mut object = EbpfLoader::new()
            .override_global("TUNNEL_END_V4", &v4.octets(), true)
            .override_global("TUNNEL_END_V6", &v6.octets(), true)
            .load(PROGRAMS)
            .expect("the object of the tests loads");
        let program: &mut Xdp = object
            .program_mut(PROGRAM)
            .expect("the program is in the object")
            .try_into()
            .expect("it is an XDP program");
        program.load().expect("the verifier accepts it");
        Self { object }
    }

    /// The program.
    pub fn program(&self) -> &Xdp {
        let program = self.object.program(PROGRAM);
        program
            .and_then(|program| program.try_into().ok())
            .expect("it is loaded")
    }

    /// How many packets it has taken apart, by the families of the outer and of the inner one, IPv4 first.
    pub fn packets(&self) -> [[u64; 2]; 2] {
        self.counted(0)
    }

    /// The same of those that came in datagrams.
    pub fn datagrams(&self) -> [[u64; 2]; 2] {
        self.counted(4)
    }

    fn counted(&self, first: u32) -> [[u64; 2]; 2] {
        let map = self
            .object
            .map("DECAPSULATED")
            .expect("it is in the object");
        let map = PerCpuArray::<_, u64>::try_from(map).expect("it counts per CPU");
        let count = |index| {
            let counts = map
                .get(&(first + index), 0)
                .expect("it has such an element");
            counts.iter().sum()
        };
        [[0, 1], [2, 3]].map(|inner| inner.map(count))
    }
}
