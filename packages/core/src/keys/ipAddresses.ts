/**
 * Decides whether an address is one of those that a key may be used from.
 */

import { BlockList, isIP, isIPv4 } from "node:net"
import { BoundedMap, parseIpNetwork } from "@tollgate/store/internal"

/** The address of a request, or a function that finds it, which is called only if the key has `ipAllow`. */
export type IpSource = string | (() => string | undefined) | undefined

/** The IPv4 addresses in IPv6 notation, as servers that listen on both see them: `::ffff:203.0.113.7`. */
const mappedAddresses = new BlockList()
mappedAddresses.addSubnet("::ffff:0:0", 96, "ipv6")

/** Separate, because Node would find IPv4 addresses in `::/0`. */
interface Networks {
  readonly ipv4: BlockList
  readonly ipv6: BlockList
}

const getType = (address: string) => (isIPv4(address) ? "ipv4" : "ipv6")

const select = (networks: Networks, address: string): BlockList =>
  isIPv4(address) || mappedAddresses.check(address, "ipv6") ? networks.ipv4 : networks.ipv6

const compile = (ipAllow: ReadonlyArray<string>): Networks => {
  const networks = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const { address, prefix } of ipAllow.map(parseIpNetwork)) {
    select(networks, address).addSubnet(address, prefix, getType(address))
  }
  return networks
}

/** An address that is not known is not allowed. Node ignores the zone of an address, as in `fe80::1%eth0`. */
export type IsIpAllowed = (ipAllow: ReadonlyArray<string>, source: IpSource) => boolean

export const makeIsIpAllowed = (): IsIpAllowed => {
  /** Compiled lists by their entries: compiling one takes a hundred times as long as a check. */
  const compiled = new BoundedMap<string, Networks>(1_000_000, (_, entries) => entries.length)

  const getNetworks = (ipAllow: ReadonlyArray<string>): Networks => {
    const entries = ipAllow.join(" ")
    const known = compiled.get(entries)
    if (known !== undefined) return known
    const networks = compile(ipAllow)
    compiled.set(entries, networks)
    return networks
  }

  return (ipAllow, source) => {
    const address = typeof source === "function" ? source() : source
    if (address === undefined || isIP(address) === 0) return false
    return select(getNetworks(ipAllow), address).check(address, getType(address))
  }
}
