/**
 * Whether a binding passes a request to Tollgate, by its path below the mount. Below a mount path, all of `/v1` is
 * Tollgate's: a mistyped path gets its problem instead of a page of the application. At the root, `/v1` may have routes
 * of the application too, so a path that is not Tollgate's is left to it.
 */
export const isHandled = (
  { matches }: { readonly matches: (path: string, host: string) => boolean },
  path: string,
  host: string,
  basePath: string
): boolean => (basePath !== "" && /^\/v1(?:[/?]|$)/.test(path)) || matches(path, host)
