/**
 * How deployments are named: readable first, then a keyed hash that nobody can compute for another account's branch.
 */
import { createHash } from "node:crypto"
import { type Branch, DeploymentName } from "./Deployment.ts"

const maxNameLength = 63
/** Characters of base 32: 60 bits. */
const hashLength = 12
const base32 = "abcdefghijklmnopqrstuvwxyz234567"

const toBase32 = (hash: Uint8Array): string =>
  Array.from({ length: hashLength }, (_, index) => {
    const bits = 5 * index
    const pair = ((hash[bits >> 3] ?? 0) << 8) | (hash[(bits >> 3) + 1] ?? 0)
    return base32.charAt((pair >> (11 - (bits & 7))) & 31)
  }).join("")

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")

const join = ({ projectName, branchName }: Branch, hash: string): DeploymentName => {
  const readable = slug(`${projectName}-${branchName}`).slice(0, maxNameLength - hash.length - 1)
  return DeploymentName.make(`${readable.replace(/-+$/, "")}-${hash}`)
}

const identify = ({ accountName, projectName, branchName }: Branch, ...more: ReadonlyArray<number>): string =>
  JSON.stringify([accountName, projectName, branchName, ...more])

/** A name for a branch that has none. Each attempt gives another one, for when a name belongs to another branch. */
export const makeName = (branch: Branch, attempt: number, hashName: (text: string) => Uint8Array): DeploymentName =>
  join(branch, toBase32(hashName(identify(branch, attempt))))

/** The name that earlier versions gave to a branch, with a hash that anybody can compute: read, and never made. */
export const legacyName = (branch: Branch): DeploymentName =>
  join(branch, createHash("sha256").update(identify(branch)).digest("hex").slice(0, 7))
