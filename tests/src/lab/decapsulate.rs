use aya::{
    Ebpf, EbpfLoader,
    maps::PerCpuArray,
    programs::{Xdp, XdpMode},
};

use super::host::{Host, INTERFACE};
use crate::PROGRAMS;

/// The end of a tunnel on a host: 4in4 and 6in6 packets for its own addresses are taken apart, and
/// the inner ones go up. Dropping it ends that.
#[derive(Debug)]
pub struct TunnelEnd {
    /// Holds program, link and map.
    object: Ebpf,
}

impl Host {
    /// Makes it the end of tunnels (natively, on its interface).
    #[track_caller]
    pub fn decapsulate(&self) -> TunnelEnd {
        let mut object = EbpfLoader::new()
            .override_global("TUNNEL_END_V4", &self.address().octets(), true)
            .override_global("TUNNEL_END_V6", &self.address_v6().octets(), true)
            .load(PROGRAMS)
            .expect("the object of the tests loads");
        let program: &mut Xdp = object
            .program_mut("decapsulate")
            .expect("the program is in the object")
            .try_into()
            .expect("it is an XDP program");
        program.load().expect("the verifier accepts it");
        self.enter(|| program.attach(INTERFACE, XdpMode::Driver))
            .unwrap_or_else(|error| panic!("{} did not take it: {error}", self.name()));
        TunnelEnd { object }
    }
}

impl TunnelEnd {
    /// How many packets it has taken apart: 4in4, 6in6.
    pub fn packets(&self) -> [u64; 2] {
        let map = self
            .object
            .map("DECAPSULATED")
            .expect("it is in the object");
        let map = PerCpuArray::<_, u64>::try_from(map).expect("it counts per CPU");
        [0, 1].map(|index| {
            let counts = map.get(&index, 0).expect("it has two elements");
            counts.iter().sum()
        })
    }
}
