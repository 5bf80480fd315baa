use aya::{
    Ebpf, EbpfLoader,
    maps::PerCpuArray,
    programs::{Xdp, XdpMode},
};

use super::{Host, Lab, namespace::Namespace};
use crate::PROGRAMS;

/// VLANs between the switch, which knows none, and the first edge: TCP and UDP from some hosts come to the edge
/// with a tag, and what comes from it loses its tag. (The kernel of a test may have no VLANs, so the edge's
/// host itself sees none of these.)
pub struct Trunk {
    /// Hold programs, links and maps.
    _from_hosts: Vec<Ebpf>,
    from_edge: Ebpf,
}

impl Lab {
    /// Puts what these hosts send to the first edge into VLANs.
    #[track_caller]
    pub fn trunk(&mut self, vlans: &[(&str, u16)]) -> Trunk {
        // An interface takes one program.
        self.pass.clear();
        let edge = self.edge();
        // Else the tag would not be in the frame that the program at the other end sees.
        self.switch
            .run(&format!("ethtool -K {} txvlan off", edge.name()));
        let from_host =
            |(host, vlan): &(&str, u16)| load(&self.switch, "trunk_in", host, (edge, *vlan));
        Trunk {
            _from_hosts: vlans.iter().map(from_host).collect(),
            from_edge: load(&self.switch, "trunk_out", edge.name(), (edge, 0)),
        }
    }
}

impl Trunk {
    /// Packets of TCP and UDP that came from the edge in a VLAN; 0 is for those without a tag.
    #[track_caller]
    pub fn packets(&self, vlan: u16) -> u64 {
        let map = self.from_edge.map("TRUNK_PACKETS");
        let map = PerCpuArray::<_, u64>::try_from(map.expect("it is in the object"));
        let counts = map.expect("it counts per CPU").get(&vlan.into(), 0);
        counts.expect("it has such an element").iter().sum()
    }
}

/// Attaches a program to a port of the switch, natively.
#[track_caller]
fn load(switch: &Namespace, name: &str, port: &str, (edge, vlan): (&Host, u16)) -> Ebpf {
    let mut object = EbpfLoader::new()
        .override_global("TRUNK_EDGE", &edge.mac().0, true)
        .override_global("TRUNK_VLAN", &vlan, true)
        .load(PROGRAMS)
        .expect("the object of the tests loads");
    let program: &mut Xdp = object
        .program_mut(name)
        .and_then(|program| program.try_into().ok())
        .expect("it is in the object");
    program.load().expect("the verifier accepts it");
    switch
        .enter(|| program.attach(port, XdpMode::Driver))
        .unwrap_or_else(|error| panic!("{port} did not take {name}: {error}"));
    object
}
