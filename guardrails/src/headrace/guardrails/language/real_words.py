"""Real English words that are one slip from an ordinary word of a request, so never corrected.

Made once from a dictionary: every word that `spelling.corrected` would otherwise change.
"""

_WORDS = """
aboriginal aboriginals actuality afternoons ailed alder aldo alone alpo alsop alter alto anythings aprils
apter arch augusta augusts avery backups backus bailed bandwidths baring being bend bering bimonthly bling
bolder boring brig brine brings brink briny britten bugger cancels cancer caster cause caused cello
certification certified chan chanced chancel change changes chanted charged checkouts clanged cline cloned
clones close clove codified cody coexisting cold colder compacted compelled competed complected complete
completely completer completes completest complexes comported composted concluding cone cope cops corning
cory cosy cove cozy criminals crone cunning dafter dairy daisy dally deadlines deadliness decembers
declination decryption defeating defecting deflating deflecting deification dejecting delegating deleted
deletes deletions delinting delivered deliverer delivers delivery deplete depleting desalination deserting
designation desisting destinations destitution detecting detesting detonation digger distinction doily dopy
dourly dove downloaded downloads drily dunning duplicated duplicates duplicator duplicity easter edification
eery elder emery emissions encrusted encrypts enlisting estimation etch ethan evenings ever evert ewer
exceeding excepts excerpt exchanged excluded excludes exiting expiating exploding extruding fabled factually
falter fasted fasten fatter fend fester fetich fewer fifes file filet filets fills films fines finis finnish
fires fitch fives fixes flailed flies foiled folder foster fridays frog fromm gaily giles gunning hailed
hanged hank hanks headline headlined headlines hell hellos hells hewer holder hove ignored ignores incest
inclining inclosing included includes infest info ingests intro intruding invest jailed jello jigger jove
ketch khan knightly lager larch larder large largess lease leavening lend licit lightly limits lone love
mach mailed marc marci marco marcy marsh master match meekly mend miles mince mirrors moaning mode modifier
modifiers modifies molder mole mollified mondays mooning mope more mornings mortified mote mourning moved
mover moves movie nailed never newel nigger nighty nonmember noshing notching nothings noting novembers
octobers odder oder oily olden order originates orly otto overdrive overprice overpricing overprinting
overrating overriding overwrites overwritten parch parse parsed passed pease pelleting pend permission
petrified piles pinto pleased pleases preserved preserver preservers preserves presume prom punning
purification queue queues rafter railed raster reallocate relenting relocated relocates remissions remote
removed remover removes rend repleting replicated replicates replicator rerunning reserve resisting
restarting resumed resumes retch revenging revery rewritten rightly riles ring rove ruining sailed sand sash
saturdays scream seed selecting sends sent septembers sewer shank shanks ship sine singe skid skim skimp
skin skips skis skit slash slip smart smarting smash snip solder sourced sources sourly spend staph star
starching stare staring stark starling starlings starr starring stars startling starts starving starvings
stat states stating stats statue statues steam streak streams stuart sundae sundas sundays sundry sunning
supplicate swash synchronized synchronizes syncs tailed tank tanks tart taster tend terrified thad thai thar
that thaw then thin think thinks thunk thunks thursdays tightly tiles timestamp toady toddy tokay tomorrows
tonto tran transferals transforms transverse triplicate tuesdays unchanged uncompleted unload unmodified
unoriginal unsightly untie unverified unwritten uploads upstarting vaster vend verifies verily verity
versification versified versifies versify very vetch vilification vince virginals wailed waster weakly
wednesdays weekdays weekended weekends wend wiles wince world woulds wound wove wring yesterdays
"""

REAL_WORDS: frozenset[str] = frozenset(_WORDS.split())
