/** What the host says about the app, from the page. */
export const readSettings = <A>(): Partial<A> => {
  const text = document.querySelector<HTMLMetaElement>('meta[name="tollgate-settings"]')?.content
  return text === undefined ? {} : JSON.parse(text)
}
