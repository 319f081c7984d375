/**
 * The option `sitesUrl`: the host that serves sites and nothing else. With `{name}` as its first label, each deployment
 * has a separate host, and so a separate origin.
 */
import { Effect } from "effect"
import { ConfigurationError } from "../../runtime/ConfigurationError.ts"

const placeholder = "{name}"

/**
 * The sites of a host: a `shared` host serves all sites below `/sites/`, a `dedicated` host serves only the site that
 * its first label names.
 */
export type SiteHost = { readonly kind: "shared" } | { readonly kind: "dedicated"; readonly name: string }

export interface SitesUrl {
  /** The public URL of a deployment. */
  readonly siteUrl: (name: string) => string
  /** Finds the sites of a host by its `Host` header. Returns undefined if the host does not serve sites. */
  readonly matchHost: (host: string) => SiteHost | undefined
}

/** Removes the port and trailing dots, and converts to lower case. */
const normalizeHost = (host: string): string => host.trim().toLowerCase().replace(/:\d*$/, "").replace(/\.+$/, "")

/** Validates an HTTP URL without query and fragment, and removes its trailing slashes. */
export const parseBaseUrl = (option: string, value: string): Effect.Effect<string, ConfigurationError> => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === ""
    ? Effect.succeed(value.replace(/\/+$/, ""))
    : Effect.fail(new ConfigurationError({ option, problem: "must be a URL such as https://example.com/api/dev" }))
}

const configurationError = (problem: string) => new ConfigurationError({ option: "sitesUrl", problem })

const getHostname = (url: string): string => normalizeHost(new URL(url).hostname)

/** One host serves all sites, below `/sites/`. */
const makeSharedHost = (baseUrl: string): SitesUrl => {
  const hostname = getHostname(baseUrl)
  return {
    siteUrl: (name) => `${baseUrl}/sites/${name}/`,
    matchHost: (host) => (normalizeHost(host) === hostname ? { kind: "shared" } : undefined)
  }
}

/** Each deployment has a host. A host with additional labels also counts as a sites host, but matches no deployment. */
const makeHostPerSite = (template: string): SitesUrl => {
  const suffix = getHostname(template.replace(placeholder, "name")).replace(/^name/, "")
  return {
    siteUrl: (name) => `${template.replace(placeholder, name)}/`,
    matchHost: (host) => {
      const hostname = normalizeHost(host)
      return hostname.endsWith(suffix) ? { kind: "dedicated", name: hostname.slice(0, -suffix.length) } : undefined
    }
  }
}

/** Validates `sitesUrl`. Sites are untrusted code, so their host must differ from that of the HTTP API. */
export const parseSitesUrl = Effect.fnUntraced(function* (
  sitesUrl: string,
  publicUrl: string | undefined
): Effect.fn.Return<SitesUrl, ConfigurationError> {
  const hasHostPerSite = String(sitesUrl).includes(placeholder)
  if (hasHostPerSite && !/^https?:\/\/\{name\}\.[^/{}]+\/?$/i.test(sitesUrl)) {
    return yield* configurationError(
      "must have {name} once, as the first label of the host, and no path: https://{name}.sites.example"
    )
  }
  const sample = yield* parseBaseUrl("sitesUrl", hasHostPerSite ? sitesUrl.replace(placeholder, "name") : sitesUrl)
  const sites = hasHostPerSite ? makeHostPerSite(sitesUrl.replace(/\/+$/, "")) : makeSharedHost(sample)
  if (publicUrl !== undefined && sites.matchHost(new URL(publicUrl).hostname) !== undefined) {
    return yield* configurationError(
      "must have a different host than publicUrl, regardless of the port, since sites are untrusted code"
    )
  }
  return sites
})
