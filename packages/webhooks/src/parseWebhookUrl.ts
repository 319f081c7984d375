import { isIP } from "node:net"
import { hasAtMost } from "@tollgate/core/module"
import { Result } from "effect"
import { isGlobalAddress } from "./isGlobalAddress.ts"
import { maxUrlLength } from "./Webhook.ts"

/** Top-level names that never belong to a public host (RFC 6761, RFC 6762, and ICANN's reservation of `internal`). */
const privateTopLevelNames: ReadonlySet<string | undefined> = new Set(["localhost", "local", "internal"])

/** Names without a dot are of the local network, whatever its search domains make of them. */
const isPrivateName = (host: string): boolean => {
  const labels = host.replace(/\.$/, "").split(".")
  return labels.length === 1 || privateTopLevelNames.has(labels.at(-1))
}

/** The host without the brackets of an IPv6 address. `URL` has already decoded other notations, as of `0x7f.1`. */
export const getHost = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, "$1")

/** Checks what needs no DNS. Fails with what is wrong, as the end of a sentence. */
export const parseWebhookUrl = (text: string, allowPrivateNetworks: boolean): Result.Result<URL, string> => {
  if (!hasAtMost(maxUrlLength, text)) return Result.fail(`the URL has more than ${maxUrlLength} characters`)
  const url = URL.parse(text)
  if (url === null) return Result.fail("the URL is not valid")
  const isAllowedProtocol = url.protocol === "https:" || (allowPrivateNetworks && url.protocol === "http:")
  if (!isAllowedProtocol) return Result.fail("the URL must begin with https://")
  if (url.username !== "" || url.password !== "") {
    return Result.fail("the URL must not contain a user name or password")
  }
  if (allowPrivateNetworks) return Result.succeed(url)
  const host = getHost(url)
  const isPublic = isIP(host) === 0 ? !isPrivateName(host) : isGlobalAddress(host)
  return isPublic ? Result.succeed(url) : Result.fail(`the host "${host}" is not public`)
}
