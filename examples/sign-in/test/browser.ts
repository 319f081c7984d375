/**
 * As much of a browser as signing in needs: cookies, redirects and the forms of the provider.
 */
import { expect } from "vitest"

export interface Browser {
  readonly cookies: Map<string, string>
  /** Requests a URL without following redirects. With fields, it sends a form. */
  readonly visit: (url: string, fields?: Readonly<Record<string, string>>) => Promise<Response>
  /** Answers the forms of the provider, beginning at its URL, and returns the URL of the callback that it redirects to. */
  readonly useProvider: (url: string, name: string) => Promise<string>
  /** Declines in the first form of the provider. */
  readonly decline: (url: string) => Promise<string>
}

const getLocation = (response: Response): string => {
  expect([response.url, response.status]).toEqual([response.url, expect.toBeOneOf([302, 303])])
  return new URL(response.headers.get("location") ?? "", response.url).href
}

export const openBrowser = (): Browser => {
  const cookies = new Map<string, string>()

  const visit: Browser["visit"] = async (url, fields) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ")
    const form = fields === undefined ? {} : { method: "POST", body: new URLSearchParams(fields) }
    const response = await fetch(url, { ...form, headers: { cookie }, redirect: "manual" })
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === "") cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }

  /** Follows the redirects of the provider up to a page, or to another origin. */
  const follow = async (first: Response): Promise<string | Response> => {
    let response = first
    while (response.status !== 200) {
      const location = getLocation(response)
      if (!location.startsWith(new URL(first.url).origin)) return location
      response = await visit(location)
    }
    return response
  }

  const findUrl = async (page: Response, pattern: RegExp): Promise<string> => {
    const [, url] = pattern.exec(await page.text()) ?? []
    if (url === undefined) throw new Error(`${page.url} has no ${pattern}`)
    return url
  }

  return {
    cookies,
    visit,
    useProvider: async (url, name) => {
      let page = await follow(await visit(url))
      for (const fields of [{ prompt: "login", login: name, password: "any" }, { prompt: "consent" }]) {
        if (typeof page === "string") break
        page = await follow(await visit(await findUrl(page, /action="([^"]+)"/), fields))
      }
      if (typeof page !== "string") throw new Error(`${page.url} did not redirect back`)
      return page
    },
    decline: async (url) => {
      const page = await follow(await visit(url))
      if (typeof page === "string") throw new Error(`${url} showed no form`)
      const location = await follow(await visit(await findUrl(page, /href="([^"]+\/abort)"/)))
      if (typeof location !== "string") throw new Error(`${url} did not redirect back`)
      return location
    }
  }
}
