import { BlockList, isIP } from "node:net"

type Subnet = readonly [network: string, prefixLength: number]

/** One list holds one family: `BlockList` compares IPv4-mapped IPv6 addresses with the IPv4 subnets of its list. */
const makeList = (family: "ipv4" | "ipv6", subnets: ReadonlyArray<Subnet>): BlockList => {
  const list = new BlockList()
  for (const [network, prefixLength] of subnets) list.addSubnet(network, prefixLength, family)
  return list
}

/** The IANA IPv4 special-purpose registry, multicast and the reserved class E, which includes broadcast. */
const specialIpv4 = makeList("ipv4", [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4]
])

/** All that IANA allocates as global unicast. IPv4-mapped, NAT64, local and multicast addresses are outside. */
const globalIpv6 = makeList("ipv6", [["2000::", 3]])

/** Inside 2000::/3: protocol assignments such as Teredo, documentation, and 6to4, which embeds an IPv4 address. */
const specialIpv6 = makeList("ipv6", [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20]
])

/** Whether the text is an IP address of the public internet. An address with a zone is not, because zones are local. */
export const isGlobalAddress = (address: string): boolean => {
  switch (isIP(address)) {
    case 4:
      return !specialIpv4.check(address, "ipv4")
    case 6:
      return !address.includes("%") && globalIpv6.check(address, "ipv6") && !specialIpv6.check(address, "ipv6")
    default:
      return false
  }
}
