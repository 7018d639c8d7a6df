//! Hashes for the engine, from Zig's library.
const std = @import("std");

fn sum(comptime Hash: type, data: []const u8, out: [*]u8) usize {
    Hash.hash(data, out[0..Hash.digest_length], .{});
    return Hash.digest_length;
}

/// Writes the hash of `n` bytes to `out`, which has room for 64, and returns its length: SHA-2 by its bits, 1 is SHA-1, and 5 MD5.
export fn hash(kind: u32, data: [*]const u8, n: usize, out: [*]u8) usize {
    const bytes = data[0..n];
    const sha2 = std.crypto.hash.sha2;
    return switch (kind) {
        1 => sum(std.crypto.hash.Sha1, bytes, out),
        5 => sum(std.crypto.hash.Md5, bytes, out),
        224 => sum(sha2.Sha224, bytes, out),
        256 => sum(sha2.Sha256, bytes, out),
        384 => sum(sha2.Sha384, bytes, out),
        512 => sum(sha2.Sha512, bytes, out),
        else => 0,
    };
}
