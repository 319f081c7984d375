import { isIPv6 } from "node:net"

const maxAddressLength = 64

/** The address as it is stored: what a binding says is not always an address. */
export const toStoredAddress = (ip: string): string => ip.slice(0, maxAddressLength)

/** The network that one client has to itself: an IPv4 address, or the first 64 bits of an IPv6 address. */
export const toPeer = (ip: string): string => {
  const [address = ""] = ip.split("%")
  if (!isIPv6(address)) return toStoredAddress(ip)
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  // A URL has the shortest notation, which has at most one `::` and no dots.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::")
  const groups = head.split(":").filter((group) => group !== "")
  const rest = tail?.split(":").filter((group) => group !== "") ?? []
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - rest.length) }, () => "0")
  return `${[...groups, ...zeros, ...rest].slice(0, 4).join(":")}::/64`
}
