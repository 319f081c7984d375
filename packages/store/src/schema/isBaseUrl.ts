/** Whether this is an HTTP URL without query and fragment. */
export const isBaseUrl = (value: string): boolean => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === ""
}
