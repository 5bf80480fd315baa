//! The XDP program. (local stand-in, not committed)
#![cfg_attr(target_arch = "bpf", no_std, no_main)]

#[cfg(target_arch = "bpf")]
mod kernel {
    use aya_ebpf::{bindings::xdp_action, macros::{map, xdp}, maps::{Array, HashMap, PerCpuArray}, programs::XdpContext};
    use lb_common::*;
    const MMAPABLE: u32 = 1024;

    #[map] static CONTROL: Array<Control> = Array::with_max_entries(1, MMAPABLE);
    #[map] static SERVICES: HashMap<ServiceKey, Service> = HashMap::with_max_entries(1024, 0);
    #[map] static PORTS: Array<u64> = Array::with_max_entries(65536, MMAPABLE);
    #[map] static ADDRESSES: HashMap<Address, u32> = HashMap::with_max_entries(1024, 0);
    #[map] static RINGS: Array<Descriptor> = Array::with_max_entries(1024, MMAPABLE);
    #[map] static SLOTS: Array<Chunk> = Array::with_max_entries(1024, MMAPABLE);
    #[map] static TARGETS: Array<Target> = Array::with_max_entries(4096, MMAPABLE);
    #[map] static FLOWS: Array<Bucket> = Array::with_max_entries(1024, MMAPABLE);
    #[map] static VERDICTS: PerCpuArray<Counter> = PerCpuArray::with_max_entries(7, 0);
    #[map] static FLOW_EVENTS: PerCpuArray<Counter> = PerCpuArray::with_max_entries(7, 0);
    #[map] static SERVICE_COUNTERS: PerCpuArray<Counter> = PerCpuArray::with_max_entries(1024, 0);
    #[map] static TARGET_COUNTERS: PerCpuArray<Counter> = PerCpuArray::with_max_entries(4096, 0);
    #[map] static INSERTS: PerCpuArray<u64> = PerCpuArray::with_max_entries(1, 0);
    #[unsafe(no_mangle)] static FLOW_MASK: u32 = 0;
    #[unsafe(no_mangle)] static INSERT_LIMIT: u32 = 0;
    #[unsafe(no_mangle)] static IDLE_TICKS: [u32; 4] = [0; 4];
    #[unsafe(no_mangle)] static PACKET_LOG: u8 = 0;

    #[xdp]
    pub fn waggle(ctx: XdpContext) -> u32 {
        let v = unsafe { core::ptr::read_volatile(&FLOW_MASK) + core::ptr::read_volatile(&INSERT_LIMIT) + core::ptr::read_volatile(&IDLE_TICKS[1]) };
        if unsafe { core::ptr::read_volatile(&PACKET_LOG) } != 0 { aya_log_ebpf::info!(&ctx, "seen"); }
        if let Some(c) = VERDICTS.get_ptr_mut(0) { unsafe { (*c).packets += 1; (*c).bytes += 100; } }
        if v == 77 { return xdp_action::XDP_DROP; }
        xdp_action::XDP_PASS
    }

    #[panic_handler]
    fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
        loop {}
    }

    #[unsafe(link_section = "license")]
    #[unsafe(no_mangle)]
    static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
}

#[cfg(not(target_arch = "bpf"))]
fn main() {}
