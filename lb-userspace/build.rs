//! Builds the XDP program and leaves its object in `OUT_DIR/waggle-xdp`.

fn main() -> anyhow::Result<()> {
    lb_build::object("lb-ebpf", "waggle-xdp", &["../lb-ebpf", "../lb-common"])
}
