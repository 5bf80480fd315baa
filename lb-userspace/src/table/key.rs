use lb_common::HashKey;
use sha2::{Digest, Sha256};

/// The key of the ring hash that the setting `ring_key` stands for: its coefficients are the
/// blocks SHA-256(domain, text, block number), the same numbers on every host.
pub fn ring_key(text: &str) -> HashKey {
    const BLOCK: usize = 32;
    let mut bytes = [0; HashKey::BYTES];
    for (number, block) in (0u32..).zip(bytes.chunks_exact_mut(BLOCK)) {
        let digest = Sha256::new()
            .chain_update("waggle ring key")
            .chain_update(text)
            .chain_update(number.to_be_bytes())
            .finalize();
        block.copy_from_slice(&digest);
    }
    let (words, _) = bytes.as_chunks_mut();
    for word in words {
        *word = u64::from_be_bytes(*word).to_ne_bytes();
    }
    HashKey::from_bytes(bytes)
}
