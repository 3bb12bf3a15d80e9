"""SHAKE-128 in plain Python (FIPS 202), to check that rows depend on the standard alone."""

_RATE = 168
_MASK = 2**64 - 1


def _rotate(lane, by):
    return ((lane << by % 64) | (lane >> (64 - by % 64))) & _MASK


def _permute(lanes):
    """Keccak-f[1600] on a 5 × 5 table of 64-bit lanes (section 3.3)."""
    register = 1
    for _ in range(24):
        columns = [
            lanes[x][0] ^ lanes[x][1] ^ lanes[x][2] ^ lanes[x][3] ^ lanes[x][4] for x in range(5)
        ]
        for x in range(5):
            mixed = columns[(x - 1) % 5] ^ _rotate(columns[(x + 1) % 5], 1)
            lanes[x] = [lane ^ mixed for lane in lanes[x]]
        x, y, current = 1, 0, lanes[1][0]
        for step in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            current, lanes[x][y] = lanes[x][y], _rotate(current, (step + 1) * (step + 2) // 2)
        for y in range(5):
            row = [lanes[x][y] for x in range(5)]
            for x in range(5):
                lanes[x][y] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5] & _MASK)
        for bit in range(7):
            register = ((register << 1) ^ ((register >> 7) * 0x71)) % 256
            if register & 2:
                lanes[0][0] ^= 1 << (2**bit - 1)


def _absorb(state, block):
    for i in range(0, len(block), 8):
        x, y = i // 8 % 5, i // 40
        state[x][y] ^= int.from_bytes(block[i : i + 8], "little")


def shake_128(message, length):
    """The first `length` bytes of the output for `message`."""
    padded = bytearray(message + b"\x1f")
    padded += bytes(-len(padded) % _RATE)
    padded[-1] ^= 0x80
    state = [[0] * 5 for _ in range(5)]
    for start in range(0, len(padded), _RATE):
        _absorb(state, padded[start : start + _RATE])
        _permute(state)
    out = b""
    while len(out) < length:
        lanes = [state[i % 5][i // 5] for i in range(_RATE // 8)]
        out += b"".join(lane.to_bytes(8, "little") for lane in lanes)
        _permute(state)
    return out[:length]
