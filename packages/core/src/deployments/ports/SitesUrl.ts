/**
 * The option `sitesUrl`: the host that serves sites and nothing else. With `{name}` as its first label, each deployment
 * has a host, and so an origin, of its own.
 */
import { Effect } from "effect"
import { ConfigurationError } from "../../runtime/ConfigurationError.ts"

const placeholder = "{name}"

/** Which site a host serves: those below `/sites/`, or the one that the host is named after. */
export type SiteHost = { readonly kind: "shared" } | { readonly kind: "own"; readonly name: string }

export interface SitesUrl {
  /** The address of a deployment. */
  readonly urlOf: (name: string) => string
  /** What a host serves, by the `Host` header; none if it is not a host of sites. */
  readonly siteAt: (host: string) => SiteHost | undefined
}

/** A host in one form: without its port and a trailing dot, in lower case. */
export const normalizeHost = (host: string): string =>
  host.trim().toLowerCase().replace(/:\d*$/, "").replace(/\.+$/, "")

/** An address without a query, as it was given, less its trailing slashes. */
export const parseOrigin = (option: string, value: string): Effect.Effect<string, ConfigurationError> => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === ""
    ? Effect.succeed(value.replace(/\/+$/, ""))
    : Effect.fail(new ConfigurationError({ option, problem: "give an address, such as https://example.com/api/dev" }))
}

const configurationError = (problem: string) => new ConfigurationError({ option: "sitesUrl", problem })

const toHostname = (address: string): string => normalizeHost(new URL(address).hostname)

/** One host for all sites, at the paths below `/sites/`. */
const makeSharedHost = (address: string): SitesUrl => {
  const hostname = toHostname(address)
  return {
    urlOf: (name) => `${address}/sites/${name}/`,
    siteAt: (host) => (normalizeHost(host) === hostname ? { kind: "shared" } : undefined)
  }
}

/** A host for each deployment. Hosts with more labels are no deployment's, and nothing else's either. */
const makeOwnHosts = (address: string): SitesUrl => {
  const suffix = toHostname(address.replace(placeholder, "name")).replace(/^name/, "")
  return {
    urlOf: (name) => `${address.replace(placeholder, name)}/`,
    siteAt: (host) => {
      const hostname = normalizeHost(host)
      return hostname.endsWith(suffix) ? { kind: "own", name: hostname.slice(0, -suffix.length) } : undefined
    }
  }
}

/** Checks `sitesUrl`. Sites are untrusted code, so their host must not be the one of the API. */
export const parseSitesUrl = Effect.fnUntraced(function* (
  sitesUrl: string,
  publicUrl: string | undefined
): Effect.fn.Return<SitesUrl, ConfigurationError> {
  const isOwn = String(sitesUrl).includes(placeholder)
  if (isOwn && !/^https?:\/\/\{name\}\.[^/{}]+\/?$/i.test(sitesUrl)) {
    return yield* configurationError(
      "give {name} once, as the first label of the host, and no path: https://{name}.sites.example"
    )
  }
  const sample = yield* parseOrigin("sitesUrl", isOwn ? sitesUrl.replace(placeholder, "name") : sitesUrl)
  const address = isOwn ? sitesUrl.replace(/\/+$/, "") : sample
  const sites = isOwn ? makeOwnHosts(address) : makeSharedHost(address)
  if (publicUrl !== undefined && sites.siteAt(new URL(publicUrl).hostname) !== undefined) {
    return yield* configurationError("give a host that is not publicUrl's, whatever the port: sites are untrusted code")
  }
  return sites
})
