/** The files of a site beside its page. Sites with the same remainder share a file. */
export const getSharedFiles = (number: number) =>
  [2, 3, 5].map((period) => ({ name: `shared-${period}.txt`, content: `${period}: ${number % period}` }))
