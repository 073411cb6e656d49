"""The commands: their lines of help, the arguments of each, and its examples; nothing that computes is imported."""

from __future__ import annotations

from dataclasses import dataclass

from rkhs.cli.options import (
    CLASSES,
    COMPONENTS,
    ENGINE,
    ESTIMATOR,
    FILE,
    FIT,
    GRAM,
    INPUT,
    JSON,
    KERNEL,
    LABELS,
    MODEL,
    QUIET,
    ROBUST,
    ROWS,
    SCALE,
    TARGETS,
)


@dataclass(frozen=True)
class Command:
    """What ``--help`` prints of a command, whose ``run(args)`` stands in the module of its name."""

    line: str
    options: str
    examples: str | None = None


_EXAMPLES_OF_FIT = """\
input: tables (.csv, .tsv, .xlsx, .parquet, .feather; .npy, .npz), molecules (.smi, .sdf; --smiles COLUMN), sequences
(.fasta, .txt), graphs (a folder in the TU format or .graphml, .gml and .edgelist files), series (--kind series),
curves (--kind curves), spectra (.mgf, .msp).

kernels: a name, name(parameter=value), and sums, products and multiples of such: 'gaussian(gamma=median) + 0.1*linear'.
Quote them for the shell. Names, with the defaults by kind marked *:
  vectors    gaussian, laplacian, matern, linear, cosine, polynomial, arccosine, ntk; fromsklearn(chi2)
  molecules  tanimoto *, minmax (* for counts); molecules (on SMILES; * with --predict)
  graphs     weisfeilerlehman (wl), shortestpath (sp); 'wl(2) + sp' *
  sequences  spectrum *, mismatch, positions (* for one length of up to 50 letters); texts: spectrum(1, tokens=words) *
  series     shiftinvariant (sink) *, globalalignment (gak) *, dynamictimewarping (dtw)
  spectra    massspectrum *
  curves     functionalgaussian, functionallaplacian; * those of vectors

examples:
  rkhs fit table.csv -o model.rkhs --codes codes.csv
  rkhs fit prices.csv --read sep=';' --read decimal=, -o model.rkhs
  rkhs fit table.csv --smiles structure --fingerprint 'counts(radius=3)' -o model.rkhs
  rkhs fit MUTAG/ --kernel 'wl(n_iter=3)' -o model.rkhs
  rkhs fit table.csv --predict price --loss huber -o model.rkhs
"""
_OPTIONS_OF_FIT = f"""
INPUT  a file or folder; see below
-o, --output MODEL  model file to write, such as model.rkhs; not needed with --codes{COMPONENTS}{FIT}
--codes FILE  write the codes of the input (.csv, .xlsx, .parquet or .npy)
--stream  read a .npy or parquet file block by block; estimators other than the default need
    --set 'storage=nystroem(1000)'
--plan  fit nothing; print what the fit would do: storage, memory, problem, settings (not with --predict){QUIET}{JSON}
prediction of numbers or of a class:
--predict COLUMN,...  columns of numbers, or one of texts or truth values, which are classes, to predict from the
    others, or from the items with them; the settings are chosen by cross-validation. Cells of classes may be
    empty{TARGETS}
--loss {{squared,huber,epsilon_insensitive,squared_epsilon_insensitive}}  default squared; huber and
    epsilon_insensitive are robust to outliers{ROBUST}{ENGINE}{INPUT}"""
_EXAMPLES_OF_MAP = """\
examples:
  rkhs map table.csv -o map.png --color class
  rkhs map gram.npy --gram --estimator kernel-pca -o map.pdf
  rkhs map table.csv -o map.html --index-column name

Rows that are near each other are near each other in the map, which looks at the 30 neighbours of each (--set
n_neighbors=15). What that loses is printed. The column of --color is not used.
"""
_OPTIONS_OF_MAP = f"""
INPUT  a file or folder, as rkhs fit reads them
-o, --output FILE  (required) what to write: a page, .html, or a picture, .png, .svg or .pdf (needs rkhs[plots])
--color COLUMN  column shown by colour: numbers, or at most 20 classes{CLASSES}{FIT}{INPUT}"""
_OPTIONS_OF_TRANSFORM = f"""{FILE}{ROWS}
-o, --output FILE  (required) a .csv, .xlsx, .parquet or .npy file to write
--layer L  hidden layer of a deep autoencoder, from 1{MODEL}{INPUT}"""
_EXAMPLES_OF_PREDICT = """\
examples:
  rkhs fit table.csv --predict price -o model.rkhs
  rkhs predict model.rkhs new.csv -o prices.csv

For each number the output holds the prediction, the ends of a set that holds the true value with about the probability
--coverage (with several numbers: all of them at once), its standard deviation, and novelty_p, which is small for rows
unlike those of the fit. A .npy file, and models of other losses or of a Gram matrix, give the predictions alone. For a
class the output holds the class of each row and the probabilities of all classes.
"""
_OPTIONS_OF_PREDICT = f"""{FILE}{ROWS}
-o, --output FILE  a .csv, .xlsx, .parquet or .npy file to write; without it csv is printed
--coverage A  probability that the ends, or the set, hold the true value (default 0.9){JSON}{MODEL}{INPUT}"""
_EXAMPLES_OF_NOVELTY = """\
examples:
  rkhs novelty table.csv
  rkhs novelty known.csv new.csv -o novelty.csv
  rkhs novelty library.smi screened.smi -o novelty.csv

If a new row comes from the same source as FILE, p is below .05 with probability .05 at most. Without NEW, p is the
share of the rows of FILE that are at least as strange, so that some are small whatever the file holds: look at the
score too. It is the posterior variance, and nears its largest value where nothing in FILE says anything of a row.
"""
_OPTIONS_OF_NOVELTY = f"""
FILE  rows that are known, as rkhs fit reads them
[NEW]  rows to compare with them (default: those of FILE)
-o, --output FILE  write p and the score of each row (.csv, .xlsx, .parquet, .npy)
--alpha A [0.05]  rows with p of at most A are called novel (default %(default)s){KERNEL}
--gram  FILE is a Gram matrix; NEW holds kernel values with its rows
--diag FILE  with --gram: k(x, x) of the rows of NEW, a number a row, or one number if all have
    it{SCALE}{JSON}{INPUT}"""
_EXAMPLES_OF_NEAREST = """\
examples:
  rkhs nearest library.csv --smiles smiles --top 3
  rkhs nearest library.smi hits.smi -o neighbours.csv

Molecules are compared by the Tanimoto similarity of their fingerprints, tables and curves by the Euclidean distance of
rows, which are standardised as by rkhs fit, and other items by the distance of features of the kernel of their kind.
"""
_OPTIONS_OF_NEAREST = f"""
KNOWN  items to choose from, as rkhs fit reads them
[NEW]  items to find the nearest of (default: those of KNOWN)
-o, --output FILE  a .csv or .xlsx file to write; without it csv is printed
--top K [5]  how many for each item (default %(default)s)
--kernel EXPRESSION  kernel on the items; rkhs fit --help lists them{SCALE}{INPUT}"""
_OPTIONS_OF_DECODE = f"""{FILE}
CODES  a file that rkhs transform wrote
-o, --output FILE  (required) file to write; rankings are .csv or .xlsx
--candidates FILE  items to choose from, read like the input of the fit (for a Gram model their kernel values with the
    training rows); default: vectors where the model has them, else the training items. A ranking counts them from 1 in
    the order of the file
--by {{auto,codes,features}} [auto]  ranking of candidates: by their own codes, or by the features that the codes decode
    to, where training items come first (default auto: codes for models of features)
--n-best K  number of candidates listed for each code (default 5)
--diag VALUE  k(z, z) of the candidates, for a Gram model and --by features{MODEL}{INPUT}"""
_EXAMPLES_OF_COMPARE = """\
examples:
  rkhs compare table.csv --predict class
  rkhs compare molecules.csv --smiles smiles --predict solubility --n-components 5
  rkhs compare gram.npy --gram --targets labels.csv
  rkhs compare new.csv --model model.rkhs --model other.rkhs --errors errors.csv

At most 2000 rows are used, a quarter of which is held out in each of five splits. Each method makes codes without the
target, from the training rows of a split; three learners then predict the target from them. With --model the errors of
saved models are compared, which are unbiased on rows that no model was fitted to."""
_OPTIONS_OF_COMPARE = f"""
INPUT  table, molecules, series, other items, or a Gram matrix (--gram)
--predict COLUMN  column of the file that holds what to predict{TARGETS}
--model MODEL  in place of a target: report the error of a saved model on the rows; may be given several times
--kernel EXPRESSION  kernel of kernel PCA and the autoencoder (default: the default of each){GRAM}{LABELS}
--n-components N [10]  number of components of a code (default %(default)s)
--errors FILE  with --model: write the errors, one column for each (.csv, .xlsx, .parquet or .npy){JSON}{INPUT}"""
_EXAMPLES_OF_REPORT = """\
examples:
  rkhs report table.csv
  rkhs report table.csv --predict diagnosis --index-column patient -o patients.html
  rkhs report model.rkhs new.csv

The page has at most 5000 items, evenly spaced in the file. The model is a KernelMap, as of rkhs map; with
--n-components, --robust or --set a KernelAutoencoder."""
_OPTIONS_OF_REPORT = f"""
FILE  a table, molecules or other items, which are fitted as rkhs fit does; or a model file, then DATA too
[DATA]  items for the model of FILE
-o, --output PAGE [report.html]  page to write (default %(default)s)
--predict COLUMN  column that is predicted from the others and colours the map; the model does not
    see it{CLASSES}{COMPONENTS}{ESTIMATOR}{KERNEL}{GRAM}{SCALE}{LABELS}{ROBUST}{INPUT}"""
_OPTIONS_OF_EXPORT = f"""{FILE}
-o, --output FILE  (required) file to write, such as model.onnx
--part {{encoder,decoder}}  half of the model to write (default: the encoder; a model that predicts is written whole)
--dtype {{float64,float32}} [float64]  type of the numbers (default %(default)s)
--plain  export the codes of the encoder alone, without refining{MODEL}"""
_OPTIONS_OF_INFO = f"{FILE}{JSON}{MODEL}"
COMMANDS = {
    "fit": Command("fit a model to the items of a file, and write it to a file", _OPTIONS_OF_FIT, _EXAMPLES_OF_FIT),
    "map": Command("draw two components of the rows of a file as a picture", _OPTIONS_OF_MAP, _EXAMPLES_OF_MAP),
    "transform": Command("encode the rows of a file with a model", _OPTIONS_OF_TRANSFORM),
    "predict": Command("predict columns with a model of fit --predict", _OPTIONS_OF_PREDICT, _EXAMPLES_OF_PREDICT),
    "novelty": Command("say which rows of a file are unlike the others", _OPTIONS_OF_NOVELTY, _EXAMPLES_OF_NOVELTY),
    "nearest": Command("list the known items most like each item", _OPTIONS_OF_NEAREST, _EXAMPLES_OF_NEAREST),
    "decode": Command("turn codes back into vectors, or into the nearest known items", _OPTIONS_OF_DECODE),
    "compare": Command("say whether codes help to predict; compare models", _OPTIONS_OF_COMPARE, _EXAMPLES_OF_COMPARE),
    "report": Command("write one HTML page about a file and its model", _OPTIONS_OF_REPORT, _EXAMPLES_OF_REPORT),
    "export": Command("write the encoder or decoder of a model as an ONNX file", _OPTIONS_OF_EXPORT),
    "info": Command("say what a model file holds", _OPTIONS_OF_INFO),
}
