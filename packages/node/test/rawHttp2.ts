/**
 * An HTTP/2 client that exposes the frames. Node's client hides them, and in some Node releases it never closes a
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

/** HPACK literals, neither indexed nor compressed: each name and value is at most 126 bytes long. */
const encodeHeaders = (headers: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value)
    ])
  )

/** SETTINGS_INITIAL_WINDOW_SIZE: how much of each response the server may send before a WINDOW_UPDATE. */
const encodeWindow = (bytes: number): Buffer => {
  const setting = Buffer.alloc(6)
  setting.writeUInt16BE(4)
  setting.writeUInt32BE(bytes, 2)
  return setting
}

export const connectRaw = (port: number, initialWindow = 65_535) => {
  const socket = connect(port, "127.0.0.1")
  const frames: Array<Frame> = []
  let waiters: Array<() => void> = []
  let unparsed = Buffer.alloc(0)
  const wake = () => {
    const current = waiters
    waiters = []
    for (const resolve of current) resolve()
  }
  socket.on("data", (chunk) => {
    unparsed = Buffer.concat([unparsed, chunk])
    while (unparsed.length >= 9 && unparsed.length >= 9 + unparsed.readUIntBE(0, 3)) {
      const end = 9 + unparsed.readUIntBE(0, 3)
      const [type, flags, stream] = [unparsed.readUInt8(3), unparsed.readUInt8(4), unparsed.readUInt32BE(5)]
      const isLast = (type === frameTypes.data || type === frameTypes.headers) && (flags & endStream) !== 0
      frames.push({ type, stream, isLast, payload: unparsed.subarray(9, end) })
      unparsed = unparsed.subarray(end)
    }
    wake()
  })
  socket.on("error", () => undefined).on("close", wake)
  const write = (type: number, flags: number, stream: number, payload: Buffer) =>
    void socket.write(encodeFrame(type, flags, stream, payload))
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
  write(frameTypes.settings, 0, 0, encodeWindow(initialWindow))

  /** Resolves with the first matching frame, as soon as it has been received. */
  const waitFor = async (matches: (frame: Frame) => boolean): Promise<Frame> => {
    for (;;) {
      const frame = frames.find(matches)
      if (frame !== undefined) return frame
      if (socket.destroyed) throw new Error("The connection closed before the frame arrived")
      await new Promise<void>((resolve) => waiters.push(resolve))
    }
  }

  return {
    frames,
    waitFor,
    /** Opens a stream without ending it. */
    request: (stream: number, method: string, path: string, headers: Readonly<Record<string, string>> = {}) => {
      const allHeaders = { ":method": method, ":scheme": "http", ":path": path, ":authority": "x", ...headers }
      write(frameTypes.headers, endHeaders, stream, encodeHeaders(allHeaders))
    },
    send: (stream: number, chunk: Buffer) => write(frameTypes.data, 0, stream, chunk),
    finish: (stream: number) => write(frameTypes.data, endStream, stream, Buffer.alloc(0)),
    /** Enlarges the flow-control windows of the stream and of the connection. */
    openWindow: (stream: number, bytes: number) => {
      const payload = Buffer.alloc(4)
      payload.writeUInt32BE(bytes)
      write(frameTypes.windowUpdate, 0, stream, payload)
      write(frameTypes.windowUpdate, 0, 0, payload)
    },
    /** The response body received so far. */
    getBody: (stream: number) =>
      Buffer.concat(
        frames
          .filter((frame) => frame.type === frameTypes.data && frame.stream === stream)
          .map(({ payload }) => payload)
      ),
    close: () => void socket.destroy()
  }
}
