refusals! {
    "Services and backends"

    /// UDP services are not supported yet.
    "no-udp" no_udp():
        "udp is not there yet"; "use \"tcp\"";

    /// Two services have the same address, protocol and port.
    "taken-endpoint" taken_endpoint(address, port, protocol, service):
        "{address} port {port} {protocol} is the service \"{service}\" already";
        "remove one of them, or use another port";

    /// Packets to that address are for the service: they would never reach the server.
    "backend-is-service" backend_is_service(address, service):
        "{address} is the address of the service \"{service}\"";
        "use the server's own address";
}
