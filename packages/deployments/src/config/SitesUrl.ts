/**
 * The option `sitesUrl`: the host that serves sites and nothing else. With `{name}` as its first label, each deployment
 * has a separate host, and so a separate origin.
 */
import { isBaseUrl, Options } from "@tollgate/core/module"

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

const removeTrailingSlashes = (url: string): string => url.replace(/\/+$/, "")

const invalidUrl = "must be a URL such as https://example.com/api/dev"

const hasPlaceholder = (value: unknown): value is string => typeof value === "string" && value.includes(placeholder)

/** The option `sitesUrl`. */
export const sitesUrl = Options.value(
  (value): value is string =>
    hasPlaceholder(value)
      ? /^https?:\/\/\{name\}\.[^/{}]+\/?$/i.test(value) && isBaseUrl(value.replace(placeholder, "name"))
      : typeof value === "string" && isBaseUrl(value),
  (value) =>
    hasPlaceholder(value)
      ? "must have {name} once, as the first label of the host, and no path: https://{name}.sites.example"
      : invalidUrl
)

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

export const makeSitesUrl = (sitesUrl: string): SitesUrl => {
  const url = removeTrailingSlashes(sitesUrl)
  return hasPlaceholder(url) ? makeHostPerSite(url) : makeSharedHost(url)
}
