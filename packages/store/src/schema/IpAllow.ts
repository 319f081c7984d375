/**
 * The addresses that an API key may be used from: IPv4 and IPv6 addresses, and networks with a prefix length.
 */

import { Schema } from "effect"
import { noDuplicates } from "./noDuplicates.ts"

const isIPv4 = (address: string): boolean => /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(address)

/** Without a module of Node, because the client has the schema too. */
const getFamily = (address: string): 4 | 6 | 0 => {
  if (isIPv4(address)) return 4
  return URL.canParse(`http://[${address}]`) ? 6 : 0
}

/** Splits an entry. `family` is 4, 6, or 0 if it has no valid address. An address alone is a network of one. */
export const parseIpNetwork = (entry: string) => {
  const [, address = "", prefix] = /^([0-9A-Fa-f.:]{2,45})(?:\/(0|[1-9]\d{0,2}))?$/.exec(entry) ?? []
  const family = getFamily(address)
  const maxPrefix = family === 4 ? 32 : 128
  return { address, family, maxPrefix, prefix: prefix === undefined ? maxPrefix : Number(prefix) }
}

const findProblem = (entry: string): string | undefined => {
  const { family, prefix, maxPrefix } = parseIpNetwork(entry)
  if (family === 0) {
    return "must be an IPv4 or IPv6 address, alone or with a prefix length, such as 203.0.113.0/24 or 2001:db8::/32"
  }
  return prefix <= maxPrefix ? undefined : `must have a prefix length of at most ${maxPrefix}`
}

const IpNetwork = Schema.String.pipe(
  Schema.check(
    Schema.makeFilter(findProblem, {
      arbitraryConstraint: { patterns: [{ source: "^10(\\.[1-9]){3}(/[89])?$", flags: "u" }] }
    })
  )
)

/** The addresses and networks of a key. An empty list counts as none: then every address is allowed. */
export const IpAllow = Schema.Array(IpNetwork).pipe(Schema.check(Schema.isMaxLength(50), noDuplicates))
