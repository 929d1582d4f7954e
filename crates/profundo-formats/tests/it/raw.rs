//! A second writer of the format, made from `docs/file-format.md` alone: it can write files that
//! ours never would.

/// The header of a version.
pub fn header(version: u32) -> Vec<u8> {
    let mut file = b"\x89PROFUNDO\r\n\x1a".to_vec();
    file.extend(version.to_le_bytes());
    file
}

/// A chunk with a right checksum, whatever its contents.
pub fn chunk(kind: &[u8; 4], codec: u8, raw_len: u32, stored: &[u8]) -> Vec<u8> {
    let mut chunk = kind.to_vec();
    chunk.extend([codec, 0, 0, 0]);
    chunk.extend(raw_len.to_le_bytes());
    chunk.extend((stored.len() as u32).to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(&chunk);
    sum.update(stored);
    chunk.extend(sum.finalize().to_le_bytes());
    chunk.extend(stored);
    chunk
}

/// A stored chunk of columns.
pub fn table(kind: &[u8; 4], first: u64, rows: u64, columns: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut payload = [uv(first), uv(rows)].concat();
    for (number, bytes) in columns {
        payload.extend([uv(*number), uv(bytes.len() as u64), bytes.clone()].concat());
    }
    chunk(kind, 0, payload.len() as u32, &payload)
}

/// Numbers without a sign, one after the other.
pub fn plain(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|&value| uv(value)).collect()
}

/// Differences, one after the other.
pub fn signed(values: &[i64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|&value| uv(((value << 1) ^ (value >> 63)) as u64))
        .collect()
}

fn uv(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// The end of each chunk of a file, with its kind.
pub fn ends(file: &[u8]) -> Vec<(String, usize)> {
    let mut ends = Vec::new();
    let mut at = 16;
    while at < file.len() {
        let stored = u32::from_le_bytes(file[at + 12..at + 16].try_into().unwrap());
        let kind = String::from_utf8(file[at..at + 4].to_vec()).unwrap();
        at += 20 + stored as usize;
        ends.push((kind, at));
    }
    ends
}
