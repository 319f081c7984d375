/**
 * Makes deployment names: a readable prefix and a keyed hash, so that clients cannot guess the names of other accounts'
 * deployments.
 */
import { createHash } from "node:crypto"
import { type Branch, DeploymentName } from "./Deployment.ts"

const maxNameLength = 63
/** In base 32 characters: 60 bits. */
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

const joinName = ({ projectName, branchName }: Branch, hash: string): DeploymentName => {
  const readable = slug(`${projectName}-${branchName}`).slice(0, maxNameLength - hash.length - 1)
  return DeploymentName.make(`${readable.replace(/-+$/, "")}-${hash}`)
}

const encodeBranch = ({ accountName, projectName, branchName }: Branch, ...suffix: ReadonlyArray<number>): string =>
  JSON.stringify([accountName, projectName, branchName, ...suffix])

/**
 * Makes a name for a branch. Each attempt returns a different name, in case another branch already has the previous
 * one.
 */
export const makeName = (branch: Branch, attempt: number, hashName: (text: string) => Uint8Array): DeploymentName =>
  joinName(branch, toBase32(hashName(encodeBranch(branch, attempt))))

/** The name that older versions of Tollgate gave to a branch, with an unkeyed hash. Only looked up, never assigned. */
export const legacyName = (branch: Branch): DeploymentName =>
  joinName(branch, createHash("sha256").update(encodeBranch(branch)).digest("hex").slice(0, 7))
