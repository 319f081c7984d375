/**
 * Makes deployment names: a readable prefix and a keyed hash, so that clients cannot guess the names of other accounts'
 * deployments.
 */
import { type Branch, DeploymentName } from "./Deployment.ts"

const maxNameLength = 63
/** In base 32 characters: 60 bits. */
const hashLength = 12
const base32 = "abcdefghijklmnopqrstuvwxyz234567"

export const toBase32 = (hash: Uint8Array, length: number): string =>
  Array.from({ length }, (_, index) => {
    const bits = 5 * index
    const pair = ((hash[bits >> 3] ?? 0) << 8) | (hash[(bits >> 3) + 1] ?? 0)
    return base32.charAt((pair >> (11 - (bits & 7))) & 31)
  }).join("")

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")

/**
 * Makes a name for a branch. Each attempt returns a different name, in case another branch already has the previous
 * one.
 */
export const makeName = (
  { accountName, projectName, branchName }: Branch,
  attempt: number,
  hashName: (text: string) => Uint8Array
): DeploymentName => {
  const hash = toBase32(hashName(JSON.stringify([accountName, projectName, branchName, attempt])), hashLength)
  const readable = slug(`${projectName}-${branchName}`).slice(0, maxNameLength - hashLength - 1)
  return DeploymentName.make(`${readable.replace(/-+$/, "")}-${hash}`)
}
