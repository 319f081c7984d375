/**
 * Loads the description from beside the page, and lists its operations by group.
 */
import { type Description, type Entry, listOperations, makeResolve } from "./description.ts"
import { element, find } from "./dom.ts"
import { showOperation } from "./operationView.ts"
import type { PreparedRequest } from "./request.ts"

// Whatever is in front of /v1/docs is where the API is mounted.
const root = location.origin + location.pathname.replace(/\/v1\/docs\/?$/, "")

const token = find("token", HTMLInputElement)
const filter = find("filter", HTMLInputElement)
const status = find("status", HTMLElement)
const groups = find("groups", HTMLElement)
const list = find("operations", HTMLElement)

const authorization = (): Readonly<Record<string, string>> => {
  const given = token.value.trim()
  return given === "" ? {} : { Authorization: `Bearer ${given}` }
}

const send = ({ method, url, headers, body }: PreparedRequest, needsToken: boolean): Promise<Response> =>
  fetch(url, {
    method,
    headers: { ...headers, ...(needsToken ? authorization() : {}) },
    cache: "no-store",
    ...(body === undefined ? {} : { body })
  })

interface Shown {
  readonly entry: Entry
  readonly details: HTMLElement
}

const matches = ({ entry: { method, path, operation } }: Shown, words: ReadonlyArray<string>): boolean => {
  const { operationId, summary = "", tags = [] } = operation
  const text = [method, path, operationId, summary, ...tags].join(" ").toLowerCase()
  return words.every((word) => text.includes(word))
}

const applyFilter = (shown: ReadonlyArray<Shown>): void => {
  const words = filter.value.toLowerCase().split(/\s+/)
  let count = 0
  for (const one of shown) {
    const isMatch = matches(one, words)
    one.details.hidden = !isMatch
    if (isMatch) count++
  }
  for (const section of list.querySelectorAll<HTMLElement>("section")) {
    section.hidden = section.querySelector("details.operation:not([hidden])") === null
  }
  status.textContent = `${count} of ${shown.length} operations`
}

/** Opens the operation that the address names: `#consumers.list`. */
const openNamed = (): void => {
  const named = document.getElementById(location.hash.slice(1))
  if (!(named instanceof HTMLDetailsElement)) return
  named.open = true
  named.scrollIntoView()
}

const show = (description: Description): void => {
  const { info, tags = [] } = description
  find("title", HTMLElement).textContent = info.title
  find("about", HTMLElement).textContent = info.description ?? ""
  const api = { root, resolve: makeResolve(description), send }
  const shown = listOperations(description).map((entry) => ({ entry, details: showOperation(entry, api) }))
  for (const [index, { name, description: about = "" }] of tags.entries()) {
    const id = `group-${index}`
    const own = shown.filter(({ entry }) => entry.operation.tags?.includes(name) === true)
    const heading = element("h2", { id: `${id}-name` }, name)
    groups.append(element("a", { href: `#${id}` }, name))
    list.append(
      element(
        "section",
        { id, "aria-labelledby": heading.id },
        heading,
        element("p", {}, about),
        ...own.map(({ details }) => details)
      )
    )
  }
  filter.addEventListener("input", () => applyFilter(shown))
  applyFilter(shown)
  openNamed()
  addEventListener("hashchange", openNamed)
}

const load = async (): Promise<void> => {
  const response = await fetch(`${root}/v1/openapi.json`, { headers: authorization() })
  if (response.status === 401) {
    status.textContent = "The description of this API is protected. Enter a management token, then press Enter."
    token.addEventListener("change", start, { once: true })
    return
  }
  if (!response.ok) throw new Error(`it answered ${response.status}`)
  show(await response.json())
}

const start = (): void => {
  load().catch((error: unknown) => {
    status.textContent = `Cannot load the description from ${root}/v1/openapi.json: ${error}`
  })
}

start()
