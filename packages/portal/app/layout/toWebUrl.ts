import { isWebUrl } from "@tollgate/ui/components/ExternalLink.tsx"

/** An address that the host gives, if a browser opens it as a web page. It may be a path of this server. */
export const toWebUrl = (address: string | undefined): string | undefined => {
  const url = address === undefined ? null : URL.parse(address, location.href)
  return url !== null && isWebUrl(url.href) ? url.href : undefined
}
