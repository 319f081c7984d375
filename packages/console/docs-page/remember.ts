/**
 * Remembers the names that most paths begin with, so that they are typed once: all fields for one show the same text.
 */
const remembered = ["accountName", "bucketName", "bucketId", "projectName"]

/** Before the names in the storage of the browser, which the host's pages share. */
const prefix = "tollgate-docs-"

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/** Without storage, as in a private window, names are remembered until the page is left. */
const values = new Map<string, string>()
const fields = new Map<string, Set<Field>>()

export const getName = (name: string): string => {
  if (!remembered.includes(name)) return ""
  try {
    return values.get(name) ?? localStorage.getItem(prefix + name) ?? ""
  } catch {
    return ""
  }
}

const setName = (name: string, value: string): void => {
  values.set(name, value)
  try {
    localStorage.setItem(prefix + name, value)
  } catch {
    // The storage is full or switched off.
  }
}

/** Fills a field with what is remembered, and keeps it and the others for the same name alike. */
export const bindName = (name: string, field: Field): void => {
  if (!remembered.includes(name)) return
  const others = fields.get(name) ?? new Set()
  fields.set(name, others.add(field))
  field.value = getName(name)
  field.addEventListener("input", () => {
    setName(name, field.value)
    for (const other of others) {
      if (other === field) continue
      other.value = field.value
      other.dispatchEvent(new Event("change", { bubbles: true }))
    }
  })
}
