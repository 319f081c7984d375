import { assert, describe, it } from "@effect/vitest"
import { isGlobalAddress } from "../src/isGlobalAddress.ts"

/** The first and the last address of each subnet, and its neighbours where they are public. */
const special = [
  "0.0.0.0",
  "0.255.255.255",
  "10.0.0.0",
  "10.255.255.255",
  "100.64.0.0",
  "100.127.255.255",
  "127.0.0.1",
  "127.255.255.255",
  "169.254.0.0",
  "169.254.169.254",
  "172.16.0.0",
  "172.31.255.255",
  "192.0.0.0",
  "192.0.0.255",
  "192.0.2.1",
  "192.88.99.1",
  "192.168.0.0",
  "192.168.255.255",
  "198.18.0.0",
  "198.19.255.255",
  "198.51.100.7",
  "203.0.113.7",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::127.0.0.1",
  "::8.8.8.8",
  "::ffff:127.0.0.1",
  "::ffff:8.8.8.8",
  "::ffff:7f00:1",
  "::ffff:0:8.8.8.8",
  "64:ff9b::7f00:1",
  "64:ff9b::8.8.8.8",
  "64:ff9b:1::8.8.8.8",
  "100::1",
  "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
  "2001::1",
  "2001:0:4136:e378:8000:63bf:3fff:fdd2",
  "2001:2::1",
  "2001:10::1",
  "2001:20::1",
  "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
  "2001:db8::1",
  "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
  "2002:7f00:1::1",
  "2002:808:808::1",
  "3fff::1",
  "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
  "4000::",
  "5f00::1",
  "fc00::1",
  "fdff:ffff::1",
  "fe80::1",
  "fe80::1%eth0",
  "fec0::1",
  "ff02::1",
  "ff0e::1",
  "2606:4700::1%eth0"
]

const global = [
  "1.0.0.0",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.0",
  "169.253.255.255",
  "169.255.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.0.1.0",
  "192.167.255.255",
  "192.169.0.0",
  "198.17.255.255",
  "198.20.0.0",
  "223.255.255.255",
  "2000::",
  "2001:200::1",
  "2001:4860:4860::8888",
  "2001:db7::1",
  "2001:db9::1",
  "2003::1",
  "2606:4700:4700::1111",
  "2A00:1450:4001:800::200E",
  "3ffe::1",
  "3fff:1000::1"
]

const notAddresses = ["", "localhost", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "1.2.3", "[2606:4700::1]"]

describe("isGlobalAddress", () => {
  for (const address of special) {
    it(`refuses ${address}`, () => assert.isFalse(isGlobalAddress(address)))
  }
  for (const address of global) {
    it(`accepts ${address}`, () => assert.isTrue(isGlobalAddress(address)))
  }
  for (const text of notAddresses) {
    it(`refuses "${text}", which is not an address`, () => assert.isFalse(isGlobalAddress(text)))
  }
})
