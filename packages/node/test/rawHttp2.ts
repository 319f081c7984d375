/**
 * A client that shows the HTTP/2 frames themselves. Node's own client hides them, and some of its releases never close a
 * stream that the server resets while a write is pending.
 */
import { connect } from "node:net"

export const frameTypes = { data: 0, headers: 1, rstStream: 3, settings: 4, goaway: 7, windowUpdate: 8 } as const
const endStream = 1
const endHeaders = 4

export interface Frame {
  readonly type: number
  readonly stream: number
  readonly isLast: boolean
  readonly payload: Buffer
}

const encodeFrame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** HPACK literals, neither indexed nor compressed: each text is at most 126 bytes long. */
const encodeHeaders = (headers: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value)
    ])
  )

/** SETTINGS_INITIAL_WINDOW_SIZE: how much of each response the server may send unasked. */
const encodeWindow = (bytes: number): Buffer => {
  const setting = Buffer.alloc(6)
  setting.writeUInt16BE(4)
  setting.writeUInt32BE(bytes, 2)
  return setting
}

export const connectRaw = (port: number, initialWindow = 65_535) => {
  const socket = connect(port, "127.0.0.1")
  const frames: Array<Frame> = []
  let waiting: Array<() => void> = []
  let rest = Buffer.alloc(0)
  const wake = () => {
    const woken = waiting
    waiting = []
    for (const resolve of woken) resolve()
  }
  socket.on("data", (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const end = 9 + rest.readUIntBE(0, 3)
      const [type, flags, stream] = [rest.readUInt8(3), rest.readUInt8(4), rest.readUInt32BE(5)]
      const isLast = (type === frameTypes.data || type === frameTypes.headers) && (flags & endStream) !== 0
      frames.push({ type, stream, isLast, payload: rest.subarray(9, end) })
      rest = rest.subarray(end)
    }
    wake()
  })
  socket.on("error", () => undefined).on("close", wake)
  const write = (type: number, flags: number, stream: number, payload: Buffer) =>
    void socket.write(encodeFrame(type, flags, stream, payload))
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
  write(frameTypes.settings, 0, 0, encodeWindow(initialWindow))

  /** Resolves with the first frame that fits, received already or later. */
  const waitFor = async (fits: (frame: Frame) => boolean): Promise<Frame> => {
    for (;;) {
      const found = frames.find(fits)
      if (found !== undefined) return found
      if (socket.destroyed) throw new Error("The connection closed before the frame came")
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
  }

  return {
    frames,
    waitFor,
    /** Opens a stream, and leaves it open for a body. */
    request: (stream: number, method: string, path: string, headers: Readonly<Record<string, string>> = {}) => {
      const all = { ":method": method, ":scheme": "http", ":path": path, ":authority": "x", ...headers }
      write(frameTypes.headers, endHeaders, stream, encodeHeaders(all))
    },
    send: (stream: number, chunk: Buffer) => write(frameTypes.data, 0, stream, chunk),
    finish: (stream: number) => write(frameTypes.data, endStream, stream, Buffer.alloc(0)),
    /** Lets the server send more, of the stream and of the connection. */
    openWindow: (stream: number, bytes: number) => {
      const payload = Buffer.alloc(4)
      payload.writeUInt32BE(bytes)
      write(frameTypes.windowUpdate, 0, stream, payload)
      write(frameTypes.windowUpdate, 0, 0, payload)
    },
    /** What the server has sent of a response's body. */
    bodyOf: (stream: number) =>
      Buffer.concat(
        frames.filter((frame) => frame.type === frameTypes.data && frame.stream === stream).map((f) => f.payload)
      ),
    close: () => void socket.destroy()
  }
}
