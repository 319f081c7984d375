/**
 * A DNS server on a free UDP port. It knows the names that a test gives it, and counts its queries.
 */
import { createSocket } from "node:dgram"
import { Effect } from "effect"

export type DnsReply = ReadonlyArray<string> | "nxdomain" | "servfail" | "silence"

export interface DnsZone {
  readonly [name: string]: { readonly A: DnsReply; readonly AAAA: DnsReply }
}

const responseCodes = { nxdomain: 3, servfail: 2 } as const

const readName = (query: Buffer): { readonly name: string; readonly end: number } => {
  const labels: Array<string> = []
  let position = 12
  for (let length = query.readUInt8(position); length > 0; length = query.readUInt8(position)) {
    labels.push(query.toString("latin1", position + 1, position + 1 + length))
    position += length + 1
  }
  return { name: labels.join("."), end: position + 1 }
}

/** Addresses as bytes. IPv6 addresses are written in full. */
const encodeAddress = (address: string): Buffer =>
  address.includes(":")
    ? Buffer.from(address.split(":").join(""), "hex")
    : Buffer.from(address.split(".").map((part) => Number(part)))

const encodeReply = (query: Buffer, questionEnd: number, reply: Exclude<DnsReply, "silence">): Buffer => {
  const head = Buffer.from(query.subarray(0, questionEnd))
  const addresses = typeof reply === "string" ? [] : reply
  head.writeUInt16BE(0x8180 | (typeof reply === "string" ? responseCodes[reply] : 0), 2)
  head.writeUInt16BE(addresses.length, 6)
  head.writeUInt32BE(0, 8)
  const records = addresses.map(encodeAddress).map((data) => {
    // A pointer to the name of the question, its type, class IN, a TTL of 0, and the length of the address.
    const record = Buffer.from([0xc0, 12, ...query.subarray(questionEnd - 4, questionEnd), 0, 0, 0, 0, 0, data.length])
    return Buffer.concat([record, data])
  })
  return Buffer.concat([head, ...records])
}

export const startDnsServer = (zone: DnsZone) =>
  Effect.gen(function* () {
    const queries: Array<string> = []
    const socket = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createSocket>>((resume) => {
        const socket = createSocket("udp4").bind(0, "127.0.0.1", () => resume(Effect.succeed(socket)))
      }),
      (socket) => Effect.callback<void>((resume) => void socket.close(() => resume(Effect.void)))
    )
    socket.on("message", (query, { address, port }) => {
      const { name, end } = readName(query)
      const type = query.readUInt16BE(end) === 28 ? "AAAA" : "A"
      queries.push(`${name} ${type}`)
      const reply = zone[name.toLowerCase()]?.[type] ?? "nxdomain"
      if (reply !== "silence") socket.send(encodeReply(query, end + 4, reply), port, address)
    })
    return { server: `127.0.0.1:${socket.address().port}`, queries }
  })
